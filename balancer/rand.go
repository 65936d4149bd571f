package balancer

import (
	"math/rand/v2"
	"sync"
)

// NewRand returns the random source of a cluster's balancer in a term of its config server. Terms count
// from 0. Equal seeds lead to equal choices.
func NewRand(seed uint64, term int64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 0xba19+uint64(term)))
}

// randomSource draws from the one random source of an engine, which its threads share. It implements
// policy.RandomSource.
type randomSource struct {
	mu   *sync.Mutex // of the loop
	rand *rand.Rand  // nil: nothing is random
}

// Shuffle leaves the order unchanged if there is no source.
func (r randomSource) Shuffle(n int, swap func(i, j int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rand != nil {
		r.rand.Shuffle(n, swap)
	}
}

// IntN returns a number below n, or 0 if there is no source.
func (r randomSource) IntN(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rand == nil {
		return 0
	}
	return r.rand.IntN(n)
}
