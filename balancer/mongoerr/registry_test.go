package mongoerr_test

import (
	"slices"
	"testing"

	"shardsh/balancer/mongoerr"
)

// TestRegistry: every line is read, names are told apart, and the categories that
// drivers act on hold what their specifications list.
func TestRegistry(t *testing.T) {
	codes := mongoerr.Codes()
	if len(codes) < 440 || !slices.IsSorted(codes) {
		t.Fatalf("%d codes", len(codes))
	}
	for _, code := range codes {
		if back, ok := mongoerr.CodeByName(code.Name()); !ok || back != code {
			t.Errorf("%s is %d and %d", code.Name(), code, back)
		}
	}
	// The driver specification of retryable reads and writes, less what servers
	// before 4.4 answered.
	for _, code := range []mongoerr.Code{6, 7, 89, 91, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436} {
		if !code.InCategory("RetriableError") {
			t.Errorf("%s is not retriable", code.Name())
		}
	}
	for code, category := range map[mongoerr.Code]string{
		6: "NetworkError", 50: "ExceededTimeLimitError", 91: "ShutdownError", 10107: "NotPrimaryError", 11601: "Interruption",
		13388: "StaleShardVersionError", 43: "CursorInvalidatedError", 64: "WriteConcernError", 40415: "IDLParseError",
	} {
		if !code.InCategory(category) || !slices.Contains(mongoerr.Categories(), category) {
			t.Errorf("%s is not in %s", code.Name(), category)
		}
	}
	if mongoerr.NamespaceNotFound.InCategory("RetriableError") || mongoerr.IsCodeName("Location5") || !mongoerr.IsCodeName("StaleConfig") {
		t.Error("what is not a code is one")
	}
}
