package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
)

// The program itself, killed while the cluster is at a move: before the move is
// done, and after it, before the answer. The journal alone brings it to its end.
func TestApplyKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, done := range map[string]bool{"before the move": false, "after the move": true} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var victim *exec.Cmd
			moves := 0
			address, plan := heaped(t, func(s *setting) {
				s.around = func(next wire.Handler) wire.Handler {
					return handlerFunc(func(c context.Context, r wire.Request) bson.Raw {
						mu.Lock()
						defer mu.Unlock()
						if r.Command != "moveRange" || victim == nil {
							return next.Handle(c, r)
						}
						if moves++; moves != 2 {
							return next.Handle(c, r)
						}
						var reply bson.Raw
						if done {
							reply = next.Handle(c, r)
						}
						if err := victim.Process.Kill(); err != nil {
							t.Error(err)
						}
						_, _ = victim.Process.Wait()
						victim = nil
						return reply
					})
				}
			})
			cmd := exec.Command(self, "apply", plan, address, "--yes", "--audit", plan+".audit")
			cmd.Env = append(os.Environ(), onTerminal+"=1")
			mu.Lock()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			victim = cmd
			mu.Unlock()
			_ = cmd.Wait() // it was killed
			if cmd.ProcessState != nil && cmd.ProcessState.Success() {
				t.Fatal("it was not killed")
			}
			mu.Lock()
			killed := victim == nil
			mu.Unlock()
			if !killed {
				t.Fatal("it ended by itself")
			}
			_, audited, _ := runProgram(t, "", "history", "--audit", plan+".audit")
			if lines := strings.Split(strings.TrimSpace(audited), "\n"); !strings.Contains(lines[0], "unknown: ") ||
				!strings.Contains(lines[len(lines)-1], "unknown: ") || strings.Count(audited, "moveRange") != 2 {
				t.Errorf("the audit has %s", audited)
			}
			journal := strings.TrimSuffix(plan, ".json") + ".journal"
			code, stdout, stderr := runProgram(t, "", "apply", "--resume", journal, address, "--approve", hashOfPlan(t, plan))
			if code != exitOK || !strings.Contains(stdout, "is applied: 3 steps") || ownersOf(t, address) != "bcbaaaa" {
				t.Errorf("exit code %d, %s%s, %s", code, stdout, stderr, ownersOf(t, address))
			}
		})
	}
}
