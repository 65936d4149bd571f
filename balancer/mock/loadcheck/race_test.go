//go:build race

package loadcheck

const underRace = true
