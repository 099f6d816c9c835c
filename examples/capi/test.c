/* SPDX-License-Identifier: MIT
 * The C interface, used from C: numbers against arithmetic, reuse against a drawing, and every misuse. */
#include "kvcap.h"

#include <stdio.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                        \
    do {                                                                        \
        if (!(condition)) {                                                     \
            printf("test.c:%d: not so: %s\n", __LINE__, #condition);            \
            ++failures;                                                         \
        }                                                                       \
    } while (0)

/* The error says `wanted`; frees it. */
static int says(kvcap_text *error, const char *wanted) {
    const int found = strstr(kvcap_text_data(error), wanted) != NULL;
    if (!found) {
        printf("  it says: %s\n", kvcap_text_data(error));
    }
    kvcap_text_free(error);
    return found;
}

static kvcap_model *read_model(const char *name, const char *dtype) {
    kvcap_model *model = NULL;
    CHECK(kvcap_model_read(name, dtype, &model, NULL) == KVCAP_OK);
    return model;
}

static void a_latent_is_copied_to_every_rank(void) {
    kvcap_model *model = read_model("61*mla(512,64)", NULL);
    kvcap_size_request request = {sizeof request, 8, 0, 0, 0, 0, 0, 32768, 2, 0};
    kvcap_size_result size = {sizeof size, 0, 0, 0, 0, 0, 0, 0};
    uint64_t ranks[8] = {0};
    CHECK(kvcap_size(model, &request, &size, NULL) == KVCAP_OK);
    CHECK(size.per_token == 61 * (512 + 64) * 2);
    CHECK(size.unique == size.per_token * 32768 * 2);
    CHECK(size.rank == size.unique && size.all_ranks == 8 * size.unique && size.ranks == 8);
    request.dp_attention = 1; /* each rank holds whole requests: two of eight hold one */
    CHECK(kvcap_size_ranks(model, &request, ranks, 8, NULL) == KVCAP_OK);
    CHECK(ranks[0] == size.unique / 2 && ranks[1] == size.unique / 2 && ranks[2] == 0);
    CHECK(strcmp(kvcap_model_spec(model), "61*mla(512,64)") == 0 && kvcap_model_layers(model) == 61);
    kvcap_model_free(model);
}

static void a_config_is_read_as_text(void) {
    kvcap_model *model = read_model("{\"model_type\": \"llama\", \"num_hidden_layers\": 2, \"num_attention_heads\": 4,"
                                    " \"num_key_value_heads\": 2, \"hidden_size\": 64}", "fp8");
    kvcap_size_request request = {sizeof request, 0, 0, 0, 0, 0, 0, 10, 1, 0};
    kvcap_size_result size = {sizeof size, 0, 0, 0, 0, 0, 0, 0};
    CHECK(kvcap_size(model, &request, &size, NULL) == KVCAP_OK && size.unique == 2 * 2 * 2 * 16 * 10);
    kvcap_model_free(model);
}

static void a_window_limits(void) {
    kvcap_model *model = read_model("gqa(8,128) + 5*window(64, gqa(8,128))", NULL);
    kvcap_group groups[4];
    size_t count = 4, g;
    uint64_t whole = ~(uint64_t)0, hole = ~((uint64_t)1 << 6);
    kvcap_reuse_result hit = {sizeof hit, 0, 0, 0, 0};
    kvcap_text *reason = NULL;
    CHECK(kvcap_model_groups(model, 16, 16, groups, &count, NULL) == KVCAP_OK && count == 2);
    for (g = 0; g < count; ++g) {
        groups[g].pages = 10;
        groups[g].words = groups[g].needs == KVCAP_WINDOW ? &hole : &whole;
    }
    /* 160 tokens in 10 pages; the window's page 6 is missing: 96 needs pages 2 to 5, 112 to 144 touch page 6. */
    CHECK(kvcap_reuse(groups, count, 161, &hit, &reason, NULL) == KVCAP_OK);
    CHECK(hit.tokens == 96 && hit.refused == 160 && hit.page == 6 && groups[hit.limiting].needs == KVCAP_WINDOW);
    CHECK(says(reason, "window"));
    kvcap_model_free(model);
}

static void reports_are_the_programs(void) {
    const char *fit[] = {"fit", "deepseek-v3", "--gpu", "h200", "--gpus", "8", "--tp", "8", "--tokens", "32k", "--json"};
    const char *small[] = {"fit", "8*gqa(8,128)", "--kv-budget", "1MiB", "--tokens", "32k", "--json"};
    const char *wrong[] = {"size", "deepseek-v3", "--tokenz", "3"};
    kvcap_text *out = NULL, *error = NULL;
    CHECK(kvcap_run(fit, 11, &out, &error) == KVCAP_OK);
    CHECK(strstr(kvcap_text_data(out), "\"schema\": \"kvcap.fit/1\"") != NULL && error == NULL);
    kvcap_text_free(out);
    CHECK(kvcap_run(small, 7, &out, &error) == KVCAP_DOES_NOT_FIT);
    CHECK(strstr(kvcap_text_data(out), "\"fits\": false") != NULL);
    kvcap_text_free(out);
    CHECK(kvcap_run(wrong, 4, &out, &error) == KVCAP_USAGE && says(error, "--tokens"));
}

static void misuse_is_named(void) {
    kvcap_model *model = NULL;
    kvcap_text *error = NULL;
    kvcap_size_request request = {sizeof request, 3, 0, 0, 0, 0, 0, 1, 1, 0};
    kvcap_size_result size = {sizeof size, 0, 0, 0, 0, 0, 0, 0};
    kvcap_group groups[2];
    size_t count = 1;
    CHECK(kvcap_model_read("nosuchmodel", NULL, &model, &error) == KVCAP_BAD_INPUT && says(error, "nosuchmodel"));
    CHECK(kvcap_model_read("{\"model_type\": \"zzz\"}", NULL, &model, &error) == KVCAP_UNKNOWN && says(error, "zzz"));
    CHECK(kvcap_model_read("-", NULL, &model, &error) == KVCAP_USAGE && says(error, "standard input"));
    CHECK(kvcap_model_read(NULL, NULL, &model, &error) == KVCAP_ABI && says(error, "model is NULL"));
    CHECK(kvcap_model_read("mla(1,1)", "fp99", &model, &error) == KVCAP_USAGE && says(error, "fp99"));
    CHECK(model == NULL);
    model = read_model("2*gqa(8,128) + 2*window(9, gqa(8,128))", NULL);
    CHECK(kvcap_size(model, &request, &size, &error) == KVCAP_USAGE && says(error, "3"));
    request.tp = 1;
    request.tokens = UINT64_MAX;
    CHECK(kvcap_size(model, &request, &size, &error) != KVCAP_OK && says(error, "64"));
    request.struct_size = 4;
    CHECK(kvcap_size(model, &request, &size, &error) == KVCAP_ABI && says(error, "struct_size 4"));
    CHECK(kvcap_size(NULL, &request, &size, NULL) == KVCAP_ABI);
    CHECK(kvcap_model_groups(model, 16, 16, groups, &count, &error) == KVCAP_USAGE && says(error, "2"));
    CHECK(kvcap_model_groups(model, 0, 16, groups, &count, &error) != KVCAP_OK && says(error, "0"));
    kvcap_model_free(model);
    kvcap_model_free(NULL);
}

int main(void) {
    CHECK(kvcap_capi_version() == KVCAP_CAPI_VERSION);
    CHECK(strlen(kvcap_version()) > 0);
    a_latent_is_copied_to_every_rank();
    a_config_is_read_as_text();
    a_window_limits();
    reports_are_the_programs();
    misuse_is_named();
    printf(failures == 0 ? "the C interface holds\n" : "%d failures\n", failures);
    return failures != 0;
}
