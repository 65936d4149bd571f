package plan

import (
	"fmt"
	"strconv"
	"strings"

	"shardsh/balancer/sim"
)

// ChunkModel is a named model of the contents of chunks.
type ChunkModel struct {
	Name     string
	Contents sim.ContentsModel
}

// These are the names of models. A skewed model may have its spread after the name: skewed=1.5.
const (
	Even     = "even"
	Measured = "measured"
	Skewed   = "skewed"
)

// defaultSkew is the spread of Skewed without a number.
const defaultSkew = 1.0

// ParseModel returns the model with a name. Random choices use the seed. An empty name means Measured.
func ParseModel(name string, seed uint64) (ChunkModel, error) {
	word, spread, given := strings.Cut(name, "=")
	switch {
	case word == Even && !given:
		return ChunkModel{Even, sim.Even}, nil
	case (word == Measured || word == "") && !given:
		return ChunkModel{Measured, sim.Measured}, nil
	case word == Skewed && !given:
		return ChunkModel{Skewed, sim.Skewed(defaultSkew, seed)}, nil
	case word == Skewed:
		sigma, err := strconv.ParseFloat(spread, 64)
		if err == nil && sigma >= 0 && sigma <= maxSkew {
			return ChunkModel{name, sim.Skewed(sigma, seed)}, nil
		}
		return ChunkModel{}, fmt.Errorf("%q is not a valid model: use a spread from 0 to %d, such as skewed=1", name, maxSkew)
	}
	return ChunkModel{}, fmt.Errorf("%q is not a valid model of chunk contents: use %s, %s or %s (skewed=1.5)",
		name, Even, Measured, Skewed)
}

// maxSkew is the maximum skew: with it, one chunk has nearly all data of its shard.
const maxSkew = 5
