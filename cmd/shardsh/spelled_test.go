package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"shardsh/balancer/apply"
	"shardsh/balancer/runner"
)

// A command line names the flags, and not the options of the prompt beside them.
func TestBusyBalancerNamesTheFlag(t *testing.T) {
	works := &apply.BalancerConflictError{Namespaces: []string{"x.y"}}
	for _, err := range []error{works, &runner.BalancerActiveError{BalancerConflictError: works}} {
		text := withFlagNames(fmt.Errorf("drain: %w", err)).Error()
		if !strings.HasPrefix(text, "drain: ") || !strings.Contains(text, "(--pause-balancing)") ||
			strings.Contains(text, "pauseBalancing") {
			t.Errorf("%T: %s", err, text)
		}
	}
	if err := errors.New("other"); withFlagNames(err).Error() != "other" {
		t.Error("another error is not left as it is")
	}
}
