//go:build !race

package store

import "time"

// endsWithin is how soon after its context everything ends.
const endsWithin = 50 * time.Millisecond
