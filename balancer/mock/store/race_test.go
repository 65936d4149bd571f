//go:build race

package store

import "time"

// endsWithin is how soon after its context everything ends; with the race
// detector all takes about ten times as long.
const endsWithin = 500 * time.Millisecond
