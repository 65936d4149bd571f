package main

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// defaultMemory is what the mock's commands may keep in memory together.
const defaultMemory = 1 << 30

// memorySize is how much the mock's commands may keep; unset it is the default,
// and 0 has no bound.
type memorySize struct {
	bytes int64
	given bool
}

func (m *memorySize) String() string { return "" }
func (m *memorySize) Type() string   { return "SIZE" }

// Set reads a size like 512MiB.
func (m *memorySize) Set(text string) (err error) {
	m.bytes, err = catalog.ParseSize(text)
	m.given = err == nil
	return err
}

func (m *memorySize) budget() *store.Budget {
	if !m.given {
		return store.NewBudget(defaultMemory)
	}
	return store.NewBudget(m.bytes)
}
