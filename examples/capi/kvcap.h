/* SPDX-License-Identifier: MIT
 * kvcap in C: read a model, size its cache, decide how far a prompt can be skipped, and every report of the
 * program (fit, pools, plan, identity ...) as JSON.
 *
 * Rules that hold everywhere:
 * - A function returns a status. On failure nothing is written to its results, and `error`, unless it is NULL,
 *   receives the sentence that the program prints (free it with kvcap_text_free).
 * - Structs begin with `struct_size`: set it to sizeof the struct as you compiled it. Later libraries go on
 *   serving the sizes of earlier ones; a size that the library does not know is refused (KVCAP_ABI).
 * - Bytes, tokens and counts are exact unsigned 64-bit integers; what leaves 64 bits is an error, never wrapped.
 * - No function throws, keeps a global or prints. Models are immutable: share them between threads.
 */
#ifndef KVCAP_H
#define KVCAP_H

#include <stddef.h>
#include <stdint.h>

#if defined(KVCAP_CAPI_BUILD) && defined(_WIN32)
#define KVCAP_API __declspec(dllexport)
#elif defined(__GNUC__)
#define KVCAP_API __attribute__((visibility("default")))
#else
#define KVCAP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Counts changes of this header that old callers would notice. */
#define KVCAP_CAPI_VERSION 1

/* The first five are the program's exit codes. */
typedef enum kvcap_status {
    KVCAP_OK = 0,
    KVCAP_DOES_NOT_FIT = 1, /* also with a report, which says by how much */
    KVCAP_USAGE = 2,        /* options that do not exist, do not go together or do not suit the model */
    KVCAP_BAD_INPUT = 3,
    KVCAP_UNKNOWN = 4, /* architecture, engine or version without rules here */
    KVCAP_ABI = 5,     /* a NULL that may not be, or a struct_size unknown to this library */
    KVCAP_NO_MEMORY = 6
} kvcap_status;

/* The KVCAP_CAPI_VERSION of the library that was loaded; refuse to go on when it is not yours. */
KVCAP_API uint32_t kvcap_capi_version(void);
/* "0.1.0" */
KVCAP_API const char *kvcap_version(void);

/* Text that the library owns: UTF-8, ended by a NUL that `size` does not count. */
typedef struct kvcap_text kvcap_text;
KVCAP_API const char *kvcap_text_data(const kvcap_text *text); /* "" for NULL */
KVCAP_API size_t kvcap_text_size(const kvcap_text *text);      /* 0 for NULL */
KVCAP_API void kvcap_text_free(kvcap_text *text);              /* NULL is allowed */

/* ---- reports: any verb of the program, in process ------------------------------------------------------ */

/* Runs `kvcap ARGUMENTS...` and returns its output: {"fit", "deepseek-v3", "--gpu", "h200", "--json"}. The
 * status is the program's exit code. Reports that exist are returned with KVCAP_DOES_NOT_FIT as well. The JSON
 * of each verb is described by docs/reference/schemas. Files are opened by name only. */
KVCAP_API kvcap_status kvcap_run(const char *const *arguments, size_t count, kvcap_text **out, kvcap_text **error);

/* ---- a model -------------------------------------------------------------------------------------------- */

typedef struct kvcap_model kvcap_model;

/* model: what the program takes as MODEL: a card's name, a Hugging Face id, a file (config.json, GGUF) or folder,
 * a spec line, or the text of a config.json itself. kv_cache_dtype: "auto", "bf16", "fp8" ...; NULL is "auto". */
KVCAP_API kvcap_status kvcap_model_read(const char *model, const char *kv_cache_dtype, kvcap_model **out,
                                        kvcap_text **error);
KVCAP_API void kvcap_model_free(kvcap_model *model); /* NULL is allowed */
/* The model in one line, "61*mla(512,64)": reads back as the same model. Lives as long as the model. */
KVCAP_API const char *kvcap_model_spec(const kvcap_model *model);
KVCAP_API uint64_t kvcap_model_layers(const kvcap_model *model);
/* The longest context in tokens that the file names; 0 when it names none. */
KVCAP_API uint64_t kvcap_model_max_context(const kvcap_model *model);

/* ---- size ----------------------------------------------------------------------------------------------- */

typedef struct kvcap_size_request {
    uint32_t struct_size;
    uint32_t tp, pp, cp, dp; /* 0 counts as 1 */
    uint32_t dp_attention;   /* not 0: each of the tp ranks holds whole requests */
    uint32_t reserved;       /* 0 */
    uint64_t tokens;         /* of one sequence */
    uint64_t sequences;      /* at once; 0 counts as 1 */
    uint64_t encoder_tokens; /* of cross attention; 0: none */
} kvcap_size_request;

/* In bytes. rank: of the fullest rank. */
typedef struct kvcap_size_result {
    uint32_t struct_size;
    uint32_t ranks;
    uint64_t per_token;      /* growth by one more token of one sequence, each byte once */
    uint64_t unique;         /* all sequences, each byte once */
    uint64_t all_ranks;      /* all sequences, copies counted */
    uint64_t rank;           /* held by the fullest rank */
    uint64_t rank_per_token; /* growth of the rank that grows most */
    uint64_t state;          /* of one sequence: fixed once it begins (recurrent and convolution states) */
} kvcap_size_result;

KVCAP_API kvcap_status kvcap_size(const kvcap_model *model, const kvcap_size_request *request,
                                  kvcap_size_result *result, kvcap_text **error);

/* Bytes of each rank, pp slowest, then tp, cp, dp. capacity: room in `bytes`; needs as many as `ranks` of
 * kvcap_size, else KVCAP_USAGE. */
KVCAP_API kvcap_status kvcap_size_ranks(const kvcap_model *model, const kvcap_size_request *request,
                                        uint64_t *bytes, size_t capacity, kvcap_text **error);

/* ---- reuse ---------------------------------------------------------------------------------------------- */

typedef enum kvcap_needs {
    KVCAP_EVERYTHING = 0, /* every page before the boundary */
    KVCAP_WINDOW = 1,     /* the last `reach` tokens before it, and the first `sinks` */
    KVCAP_CHUNK = 2,      /* the next token's own chunk of `reach` tokens */
    KVCAP_SNAPSHOT = 3,   /* the state at the boundary itself */
    KVCAP_WHOLE = 4,      /* all of the encoder's pages */
    KVCAP_NOTHING = 5
} kvcap_needs;

/* A group of caches and the pages of it that are there. Bit i of the words, lowest first, is the page
 * [i * page, (i + 1) * page), or the state after (i + 1) * page tokens; ceil(pages / 64) words are read. */
typedef struct kvcap_group {
    uint32_t struct_size;
    uint32_t needs; /* kvcap_needs */
    uint64_t page;  /* tokens of one bit */
    uint64_t reach, sinks;
    uint64_t stride, lag; /* of compressed streams: tokens an entry, youngest tokens without one; 0 counts as 1, 0 */
    uint64_t pages;
    const uint64_t *words;
} kvcap_group;

/* Groups of the model, without pages: fill in `pages` and `words`. page: tokens of a page; snapshot: tokens
 * between kept states. count: room in `groups` on entry, how many there are on return. */
KVCAP_API kvcap_status kvcap_model_groups(const kvcap_model *model, uint64_t page, uint64_t snapshot,
                                          kvcap_group *groups, size_t *count, kvcap_text **error);

typedef struct kvcap_reuse_result {
    uint32_t struct_size;
    uint32_t limiting; /* index of the group without which most would be gained; UINT32_MAX: none */
    uint64_t tokens;   /* the greatest boundary that every group accepts */
    uint64_t refused;  /* the boundary without that group */
    uint64_t page;     /* what it lacks there; UINT64_MAX: no page */
} kvcap_reuse_result;

/* How many of `prompt` tokens can be skipped: multiples of the groups' common page; the last token is always
 * computed. At most 32 groups and 2^32 tokens. reason, unless NULL: one sentence saying why it is not more. */
KVCAP_API kvcap_status kvcap_reuse(const kvcap_group *groups, size_t count, uint64_t prompt,
                                   kvcap_reuse_result *result, kvcap_text **reason, kvcap_text **error);

#ifdef __cplusplus
}
#endif

#endif
