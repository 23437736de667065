/* The texts of report.html, report.css and report.js, which the build turns into page.c. */
#ifndef PAGE_H
#define PAGE_H

extern const char tool_page_html[], tool_page_css[], tool_page_js[];

#endif
