package balancer

import "math/rand/v2"

// NewRand returns the source of chance of a cluster's balancer in a term of its
// config server, which counts from 0. Equal seeds lead to equal choices.
func NewRand(seed uint64, term int64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 0xba19+uint64(term)))
}
