#!/bin/bash
# examples/demo_report.sh DIRECTORY: what examples/demo.sh left in DIRECTORY, as one page for a browser, on standard output.
#
# Graphs become part of the page; pictures lie beside it.
set -euo pipefail

out=${1:?usage: examples/demo_report.sh DIRECTORY}

# text FILE: as it is
text() {
    printf '<pre>'
    sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g' "$out/$1"
    printf '</pre>\n'
}

# graph FILE CAPTION: a drawing of dot, without what a page has once; names in it must differ from those of other drawings
graph() {
    printf '<figure>\n'
    sed -n '/<svg/,$p' "$out/$1" | sed "s/ id=\"/&$1-/"
    printf '<figcaption>%s</figcaption></figure>\n' "$2"
}

# picture FILE CAPTION
picture() {
    printf '<figure><img src="%s" alt="%s"><figcaption>%s</figcaption></figure>\n' "$1" "$2" "$2"
}

cat <<'PAGE'
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>tacit: N-body on one node and on several</title>
<style>
body { font: 16px/1.5 sans-serif; color: #222; max-width: 75em; margin: 2em auto; padding: 0 1em; }
pre { font-size: 13px; line-height: 1.35; background: #f6f6f6; padding: 1em; overflow-x: auto; }
figure { margin: 1.5em 0; overflow-x: auto; }
figure svg, figure img { max-width: 100%; height: auto; }
figcaption { color: #555; }
code { background: #f6f6f6; }
</style>
</head>
<body>
<h1>N-body on one node and on several</h1>
<p>One program, <code>examples/nbody.c</code>, which has no line of communication code: every body attracts every other one. It was run on one node, on several
with messages between pairs of nodes, and on several where tacit found the collectives of MPI by itself.</p>
<h2>The same bits</h2>
PAGE
text table.txt
cat <<'PAGE'
<h2>What became of each transfer</h2>
<p>An edge is what a task (consumer) reads of what another one (producer) wrote. <em>free</em>: the node has it. <em>came before</em>: an earlier transfer brought it.</p>
PAGE
text explain.txt
cat <<'PAGE'
<h2>Two time steps, as tacit sees them</h2>
<p>Blue are tasks that compute; orange is a forward, where something may have to move. Node 0 carries out the commands below.</p>
PAGE
graph nbody.task.svg 'Task graph: the same on every node, and the same for any number of nodes.'
graph nbody.off.command.0.svg 'Commands of node 0 with point-to-point messages: one to and one from every other node.'
graph nbody.command.0.svg 'Commands of node 0 with collectives: one all-gather instead.'
graph nbody.instruction.0.svg 'Instructions of node 0: kernels, copies and transfers with the memory that they use.'
echo '<h2>Where the bodies are</h2>'
picture bodies.png 'The Plummer sphere at the end.'
picture planets.png 'Sun, planets and Pluto after a year.'
text summary.txt
cat <<'PAGE'
<h2>Further</h2>
<p><code>build/bin/tacit explain --nodes 1024 build/bin/nbody --steps 5</code> plans the program as one of 1 024 nodes that need not exist.
<code>build/bin/tacit plan build/bin/nbody --nodes 4,64,1024 --steps 5</code> compares. <code>doc/collectives.md</code> says how collectives are found.</p>
</body>
</html>
PAGE
