package mongoerr_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"shardsh/balancer/mongoerr"
)

func TestGuard(t *testing.T) {
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	failure := errors.New("no")
	if err := mongoerr.CatchPanic(logger, "work", func() error { return failure }); !errors.Is(err, failure) || log.Len() > 0 {
		t.Errorf("an error of the work came as %v, with the log %q", err, log.String())
	}
	var none map[string]int
	err := mongoerr.CatchPanic(logger, "work", func() error { none["a"] = 1; return nil })
	want := "work failed: assignment to entry in nil map"
	if !mongoerr.Is(err, mongoerr.InternalError) || !strings.Contains(err.Error(), want) {
		t.Errorf("a panic came as %v", err)
	}
	if !strings.Contains(log.String(), "guard_test.go") {
		t.Errorf("the log does not say where: %q", log.String())
	}
	if err := mongoerr.CatchPanic(nil, "work", func() error { panic("boom") }); !mongoerr.Is(err, mongoerr.InternalError) {
		t.Errorf("without a log, a panic came as %v", err)
	}
}
