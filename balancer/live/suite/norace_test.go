//go:build !race

package suite

const underRace = false
