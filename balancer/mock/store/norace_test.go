//go:build !race

package store

import "time"

// endsWithin is how soon after its context everything ends, in time of the CPU: half of it
// where another thread does not use the same core.
const endsWithin = 100 * time.Millisecond
