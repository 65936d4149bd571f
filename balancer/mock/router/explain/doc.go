// Package explain implements explain: the shards and indexes that a command uses, the stages of its
// plan, and their costs.
package explain
