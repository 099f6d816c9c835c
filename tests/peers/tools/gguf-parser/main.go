// SPDX-License-Identifier: MIT
// main FILE: estimates llama.cpp's caches of GGUF files, one question a line on standard input:
// {"path", "ctx", "batch", "ubatch", "parallel", "type_k", "type_v", "swa_full", "flash"} -> bytes.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	parser "github.com/gpustack/gguf-parser-go"
)

type question struct {
	Path                         string
	Ctx, Batch, Ubatch, Parallel int32
	TypeK                        uint32 `json:"type_k"`
	TypeV                        uint32 `json:"type_v"`
	SwaFull                      bool   `json:"swa_full"`
	Flash                        bool
}

func bytesOf(q question) (total uint64, err error) {
	defer func() {
		if wrong := recover(); wrong != nil {
			err = fmt.Errorf("panic: %v", wrong)
		}
	}()
	file, err := parser.ParseGGUFFile(q.Path)
	if err != nil {
		return 0, err
	}
	options := []parser.GGUFRunEstimateOption{
		parser.WithLLaMACppContextSize(q.Ctx), parser.WithLLaMACppLogicalBatchSize(q.Batch),
		parser.WithLLaMACppPhysicalBatchSize(q.Ubatch), parser.WithParallelSize(q.Parallel),
		parser.WithLLaMACppCacheKeyType(parser.GGMLType(q.TypeK)),
		parser.WithLLaMACppCacheValueType(parser.GGMLType(q.TypeV)), parser.WithLLaMACppOffloadLayers(0),
	}
	if q.SwaFull {
		options = append(options, parser.WithLLaMACppFullSizeSWACache())
	}
	if q.Flash {
		options = append(options, parser.WithFlashAttention())
	}
	for _, device := range file.EstimateLLaMACppRun(options...).Devices {
		total += uint64(device.KVCache.Sum())
	}
	return total, nil
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			fmt.Printf("{\"error\": %q}\n", err.Error())
			continue
		}
		if total, err := bytesOf(q); err != nil {
			fmt.Printf("{\"error\": %q}\n", err.Error())
		} else {
			fmt.Printf("{\"bytes\": %d}\n", total)
		}
	}
}
