package mongoerr_test

import (
	"errors"
	"fmt"
	"testing"

	"shardsh/balancer/mongoerr"
)

func TestCodeNames(t *testing.T) {
	tests := []struct {
		code mongoerr.Code
		want string
	}{
		{mongoerr.NamespaceNotFound, "NamespaceNotFound"},
		{mongoerr.StaleConfig, "StaleConfig"},
		{656450, "Location656450"},
	}
	for _, tt := range tests {
		if got := tt.code.Name(); got != tt.want {
			t.Errorf("Code(%d).Name() = %q, want %q", tt.code, got, tt.want)
		}
	}
}

func TestWrapKeepsTheInnermostCode(t *testing.T) {
	err := mongoerr.Wrap(mongoerr.New(mongoerr.ShardNotFound, "no shard"), "moving")
	if got := err.Error(); got != "moving :: caused by :: no shard" {
		t.Errorf("message %q", got)
	}
	if !mongoerr.Is(fmt.Errorf("outer: %w", err), mongoerr.ShardNotFound) {
		t.Error("the code was lost")
	}
	if mongoerr.Wrap(nil, "x") != nil {
		t.Error("wrapping nil made an error")
	}
}

func TestReply(t *testing.T) {
	reply := mongoerr.Reply(mongoerr.New(mongoerr.BadValue, "bad"))
	if reply[0].Value != 0.0 || reply[2].Value != int32(2) || reply[3].Value != "BadValue" {
		t.Errorf("reply %v", reply)
	}
	if reply := mongoerr.Reply(mongoerr.NewNoCode("old")); len(reply) != 2 {
		t.Errorf("a failure without code answered %v", reply)
	}
	if reply := mongoerr.Reply(errors.New("x")); reply[3].Value != "InternalError" {
		t.Errorf("reply %v", reply)
	}
}
