# SPDX-License-Identifier: MIT
"""The package against arithmetic, against the program's own output, and misused."""

import doctest
import json
import os
import subprocess
import threading
import unittest

import kvcap

LLAMA = {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
         "hidden_size": 64}


class Sizes(unittest.TestCase):
    def test_a_latent_is_copied(self):
        model = kvcap.Model("61*mla(512,64)")
        size = model.size(32768, sequences=2, tp=8)
        self.assertEqual(size.per_token, 61 * (512 + 64) * 2)
        self.assertEqual(size.unique, size.per_token * 32768 * 2)
        self.assertEqual(size.ranks, (size.unique,) * 8)
        self.assertEqual(sum(model.size(32768, 2, tp=8, dp_attention=True).ranks), size.unique)

    def test_a_config_as_a_dict(self):
        model = kvcap.Model(LLAMA, kv_cache_dtype="fp8")
        self.assertEqual(model.size(10).unique, 2 * 2 * 2 * 16 * 10)
        self.assertEqual((model.layers, model.max_context), (2, None))

    def test_the_same_as_the_report(self):
        for name in ("deepseek-v3", "gemma-3-27b", "qwen3-next-80b-a3b", "llama-3.1-8b"):
            report = kvcap.size(name, tokens="8k", tp=4)
            size = kvcap.Model(name).size(8192, tp=4)
            self.assertEqual(report["points"][0]["unique_bytes"], size.unique, name)
            held = [rank["bytes"] for rank in report["points"][0]["held_bytes_per_rank"]]
            self.assertEqual(held, list(size.ranks), name)


class Reuse(unittest.TestCase):
    def test_a_window_limits(self):
        groups = kvcap.Model("gqa(8,128) + 5*window(64, gqa(8,128))").groups(page=16)
        for group in groups:
            group.present = [group.needs != "window" or page != 6 for page in range(10)]
        hit = kvcap.reuse(groups, prompt=161)
        self.assertEqual((hit.tokens, hit.refused, hit.page), (96, 160, 6))
        self.assertEqual(groups[hit.limiting].needs, "window")
        self.assertIn("window", hit.reason)

    def test_all_there(self):
        hit = kvcap.reuse([kvcap.Group("everything", 16, present=[True] * 200)], prompt=3200)
        self.assertEqual(hit.tokens, 3184)  # the last token is computed


class Reports(unittest.TestCase):
    def test_no_fit_is_a_report(self):
        report = kvcap.fit("8*gqa(8,128)", kv_budget="1MiB", tokens="32k")
        self.assertFalse(report["fits"])

    @unittest.skipUnless(os.environ.get("KVCAP_CLI"), "KVCAP_CLI names no program")
    def test_the_programs_own_bytes(self):
        words = ["pools", "deepseek-v3", "--engine", "vllm@0.28.0", "--gpu", "h200", "--tp", "8", "--json"]
        printed = subprocess.run([os.environ["KVCAP_CLI"], *words], capture_output=True, text=True).stdout
        options = dict(engine="vllm@0.28.0", gpu="h200", tp=8)
        self.assertEqual(json.loads(printed), kvcap.pools("deepseek-v3", **options))

    def test_threads(self):
        results = []
        ask = lambda: results.append(kvcap.plan("llama-3.1-8b", gpu="h100", gpus=8, tokens="8k"))
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), 8)
        self.assertTrue(all(result == results[0] for result in results))


class Misuse(unittest.TestCase):
    def refused(self, kind, words, ask):
        with self.assertRaises(kind) as caught:
            ask()
        self.assertIn(words, str(caught.exception))

    def test_kinds(self):
        model = kvcap.Model("2*gqa(8,128)")
        self.refused(kvcap.BadInput, "nosuch", lambda: kvcap.Model("nosuch"))
        self.refused(kvcap.UnknownArchitecture, "zzz", lambda: kvcap.Model({"model_type": "zzz"}))
        self.refused(kvcap.UsageError, "fp99", lambda: kvcap.Model("mla(1,1)", "fp99"))
        self.refused(kvcap.UsageError, "NUL", lambda: kvcap.Model("mla(1,\0)"))
        self.refused(kvcap.UsageError, "3", lambda: model.size(1, tp=3))
        self.refused(kvcap.UsageError, "tokens: -1", lambda: model.size(-1))
        self.refused(kvcap.UsageError, "sequences: 0", lambda: model.size(1, sequences=0))
        self.refused(kvcap.UsageError, "tokens: 1.5", lambda: model.size(1.5))
        self.refused(kvcap.Error, "64", lambda: model.size(2**64 - 1))
        self.refused(kvcap.UsageError, "--tokens", lambda: kvcap.size("mla(1,1)", tokenz="1"))
        self.refused(kvcap.UsageError, "verb", lambda: kvcap.report("siz", "mla(1,1)"))
        self.refused(kvcap.UsageError, "needs", lambda: kvcap.reuse([kvcap.Group("all", 16)], 1))
        self.refused(kvcap.Error, "groups", lambda: kvcap.reuse([], 1))
        self.refused(kvcap.Error, "0", lambda: kvcap.reuse([kvcap.Group("everything", 0)], 1))


def load_tests(_loader, tests, _pattern):
    for module in (kvcap, kvcap._library, kvcap._model):
        tests.addTests(doctest.DocTestSuite(module, extraglobs=vars(kvcap)))
    return tests


if __name__ == "__main__":
    unittest.main()
