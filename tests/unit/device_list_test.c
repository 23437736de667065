/* What TACIT_DEVICES and TACIT_HOST_DEVICES mean, and what is refused. */
#include "run/device_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static ti_device_list parse(const char *devices, const char *hosts)
{
    ti_device_list list;
    ti_strbuf why = { 0 };
    if (!ti_device_list_parse(devices, hosts, &list, &why)) {
        fail_msg("%s", ti_strbuf_text(&why));
    }
    ti_strbuf_fini(&why);
    return list;
}

static void expect(const char *devices, const char *hosts, int count, bool discrete, bool idle, int opencls)
{
    ti_device_list list = parse(devices, hosts);
    assert_int_equal(list.hosts, count);
    assert_int_equal(list.discrete, discrete);
    assert_int_equal(list.idle_host, idle);
    assert_int_equal(list.opencls, opencls);
}

static void lists_are_understood(void **state)
{
    (void)state;
    expect(NULL, NULL, 1, false, false, 0);
    expect("host", NULL, 1, false, false, 0);
    expect("host:3", NULL, 3, false, false, 0);
    expect("host:4:discrete", NULL, 4, true, false, 0);
    expect("host:1:discrete,opencl:0", NULL, 1, true, false, 1);
    expect("opencl:0", NULL, 1, false, true, 1);
    expect("opencl:0,host,opencl:12", NULL, 1, false, false, 2);
    expect("opencl:0/3,opencl:1", NULL, 1, false, true, 4);
    expect(NULL, "2", 2, false, false, 0);
    expect(NULL, "32:discrete", 32, true, false, 0);
    expect("host", "2:discrete", 1, false, false, 0); /* the former counts */
    ti_device_list list = parse("cuda:3,host:2,cuda:0", NULL);
    assert_true(list.cudas == 2 && list.cuda[0] == 3 && list.cuda[1] == 0 && list.hosts == 2 && !list.idle_host);
    assert_true(parse("cuda:0", NULL).idle_host);
    list = parse("opencl:7,opencl:3/2", NULL);
    assert_true(list.opencl[0].index == 7 && list.opencl[0].part == 0 && list.opencl[0].parts == 1);
    assert_true(list.opencl[1].index == 3 && list.opencl[1].part == 0 && list.opencl[1].parts == 2);
    assert_true(list.opencl[2].index == 3 && list.opencl[2].part == 1 && list.opencl[2].parts == 2);
    assert_false(list.automatic || list.unasked);
    assert_true(list.host_weight == 1 && list.weight[0] == 1 && list.weight[2] == 1);
    list = parse("opencl:7*3,host:2:discrete*20,opencl:3/2*1000,opencl:0", NULL);
    assert_true(list.hosts == 2 && list.discrete && list.host_weight == 20 && list.opencls == 4);
    assert_true(list.weight[0] == 3 && list.weight[1] == 1000 && list.weight[2] == 1000 && list.weight[3] == 1);
    list = parse("cuda:1*2,cuda:0,host", NULL);
    assert_true(list.weight[0] == 2 && list.weight[1] == 1 && list.host_weight == 1 && !list.idle_host);
    list = parse(NULL, NULL);
    assert_true(list.automatic && list.unasked && list.hosts == 1 && !list.idle_host);
    assert_false(parse(NULL, "2").automatic || parse("host", NULL).automatic || parse("auto", NULL).unasked);
    list = parse("auto", "2");
    assert_true(list.automatic && list.hosts == 1 && !list.idle_host && list.cudas == 0 && list.opencls == 0);
}

static void refuse(const char *devices, const char *hosts, const char *says)
{
    ti_device_list list;
    ti_strbuf why = { 0 };
    if (ti_device_list_parse(devices, hosts, &list, &why) || !strstr(ti_strbuf_text(&why), says)) {
        fail_msg("%s, %s: '%s'", devices ? devices : "-", hosts ? hosts : "-", ti_strbuf_text(&why));
    }
    ti_strbuf_fini(&why);
}

static void the_entry_is_named(void **state)
{
    (void)state;
    refuse("cuda:0,,host", NULL, "(entry '': an entry begins with host, opencl: or cuda:)");
    refuse("cuda:0,gpu:1", NULL, "(entry 'gpu:1': an entry begins with");
    refuse("host,cuda:0,host:2", NULL, "(entry 'host:2': the host has one entry");
    refuse("host:0", NULL, "(entry 'host:0': host: is followed by how many");
    refuse("opencl:one,host", NULL, "(entry 'opencl:one': opencl: is followed by the number");
    refuse("opencl:0/33", NULL, "(entry 'opencl:0/33': behind / is how many");
    refuse("cuda:", NULL, "(entry 'cuda:': cuda: is followed by the number");
    refuse("cuda:0*0", NULL, "(entry 'cuda:0*0': a weight is 1 to 1000");
    refuse("cuda:0/2", NULL, "(entry 'cuda:0/2': a comma or nothing may follow");
    refuse("opencl:0/16,opencl:1/16", NULL, "(entry 'opencl:1/16': it makes more than 32 devices");
    refuse("host:31,opencl:0,opencl:0", NULL, "(entry 'opencl:0': it makes more than 32 devices");
}

static void devices_have_names(void **state)
{
    (void)state;
    ti_device_list list = parse("opencl:7,host:2,opencl:3/2", NULL);
    ti_device_list_name(&list);
    assert_string_equal(list.name[0], "host, part 0");
    assert_string_equal(list.name[1], "host, part 1");
    assert_string_equal(list.name[2], "opencl:7");
    assert_string_equal(list.name[3], "opencl:3/2, part 0");
    assert_string_equal(list.name[4], "opencl:3/2, part 1");
    list = parse("cuda:3", NULL);
    ti_device_list_name(&list);
    assert_string_equal(list.name[0], "host");
    assert_string_equal(list.name[1], "cuda:3");
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const lists[] = { "",
                                         ",",
                                         "host,",
                                         "host,host",
                                         "host:",
                                         "host:0",
                                         "host:33",
                                         "hosts",
                                         "opencl",
                                         "opencl:",
                                         "opencl:-1",
                                         "opencl:+1",
                                         "opencl: 1",
                                         "opencl:0/",
                                         "opencl:0/0",
                                         "opencl:0/33",
                                         "cuda",
                                         "cuda:",
                                         "cuda:0/2",
                                         "cuda:-1",
                                         "opencl:0,cuda:0",
                                         "cuda:1,host,opencl:1",
                                         "host:2:",
                                         "host:2:discreet",
                                         "opencl:99999",
                                         "host:31,opencl:0,opencl:0",
                                         "host*",
                                         "host*0",
                                         "host*1001",
                                         "host*-1",
                                         "host*2*3",
                                         "opencl:0*2/2",
                                         "cuda:0* 2",
                                         "cuda:0*2x",
                                         " host" };
    static const char *const hosts[] = { "", "0", "33", "2:", "+2", " 2", "2:discrete,", "2x", "host" };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        refuse("auto,host", NULL, "must be auto, or a list");
        refuse("auto*2", NULL, "must be auto, or a list");
        refuse("automatic", NULL, "must be auto, or a list");
        refuse(lists[i], NULL, "TACIT_DEVICES is '");
    }
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        refuse(NULL, hosts[i], "TACIT_HOST_DEVICES is '");
    }
}

/* Every GPU has a user and every node a GPU, equally many of each but for one, and in order. */
static void gpus_are_dealt_out(void **state)
{
    (void)state;
    for (int gpus = 0; gpus <= 9; gpus++) {
        for (int nodes = 1; nodes <= 9; nodes++) {
            int users[9] = { 0 }, before = 0;
            for (int n = 0; n < nodes; n++) {
                ti_device_list list = { .hosts = 1, .cudas = gpus };
                for (int i = 0; i < gpus; i++) {
                    list.cuda[i] = i;
                }
                ti_device_list_deal(&list, n, nodes);
                assert_true(gpus == 0 ? list.cudas == 0 : list.cudas >= TI_MAX(gpus / nodes, 1));
                assert_true(list.cudas <= TI_MAX((gpus + nodes - 1) / nodes, gpus > 0));
                for (int i = 0; i < list.cudas; i++) {
                    assert_true(list.cuda[i] >= before && list.cuda[i] < gpus);
                    before = list.cuda[i];
                    users[before]++;
                }
            }
            for (int i = 0; i < gpus; i++) {
                assert_true(users[i] >= 1 && users[i] <= TI_MAX((nodes + gpus - 1) / gpus, 1));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_understood), cmocka_unit_test(the_entry_is_named),
        cmocka_unit_test(devices_have_names),   cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(gpus_are_dealt_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
