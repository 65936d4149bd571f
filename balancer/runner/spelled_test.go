package runner

import (
	"strings"
	"testing"

	"shardsh/balancer/apply"
)

// An option is spelled one way: as at the prompt, or as on a command line.
func TestBusyErrorSpelled(t *testing.T) {
	e := &BalancerActiveError{&apply.BalancerConflictError{Namespaces: []string{"x.y"}, UnresolvedWindow: "22:00 to 06:00"}}
	flags := map[string]string{"pauseBalancing": "--pause-balancing", "timeZone": "--time-zone"}
	line := e.SpellOptions(func(option string) string { return flags[option] })
	if strings.Contains(e.Error(), "--") || !strings.Contains(e.Error(), "(pauseBalancing: true)") {
		t.Error(e)
	}
	if strings.Contains(line, "pauseBalancing") || strings.Contains(line, "timeZone") ||
		!strings.Contains(line, "(--pause-balancing)") || !strings.Contains(line, "(--time-zone Europe/Berlin)") {
		t.Error(line)
	}
}
