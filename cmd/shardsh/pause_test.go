package main

import (
	"strings"
	"testing"
)

// The reason of a pause may be a link; ending it says which one it was, once.
func TestPauseReason(t *testing.T) {
	address := serve(t, heapedTopology).address
	const reason = "see https://wiki/4711"
	for _, one := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"pause", reason, address}, exitOK, reason},
		{[]string{"pause", "another", address}, exitFindings, "are paused already: " + reason},
		{[]string{"pause", "--end", address}, exitOK, "The pause has ended: " + reason},
		{[]string{"pause", "--end", address}, exitOK, "Runs of shardsh are not paused."},
		{[]string{"pause", "mongodb://" + address, "why"}, exitUsage, "the reason comes before the address"},
	} {
		code, out, errs := runProgram(t, "", one.args...)
		if code != one.code || !strings.Contains(out+errs, one.want) {
			t.Errorf("%v: exit code %d, %s%s", one.args, code, out, errs)
		}
	}
}
