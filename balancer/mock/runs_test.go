package mock_test

import (
	"flag"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// check is rapid.Check with so many runs, unless their number was asked for.
func check(t *testing.T, runs int, property func(*rapid.T)) {
	t.Helper()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	// Set on the value, not by flag.Set: that would look like being asked.
	if number := flag.Lookup("rapid.checks").Value; !asked {
		usual := number.String()
		if err := number.Set(strconv.Itoa(runs)); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = number.Set(usual) }()
	}
	rapid.Check(t, property)
}
