package live_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
)

// The lease of a process of this machine that is gone is taken over at once; that of
// one which is there, of one on another machine and of one that nobody knows is not.
func TestLeaseOfADeadProcess(t *testing.T) {
	c := served(t, catalog.Release80, variety, asItIs)
	self := live.NewHolder("balance shop.orders")
	words := strings.Fields(self.Process)
	if len(words) != 3 {
		t.Fatalf("this process is %q", self.Process)
	}
	for _, tc := range []struct {
		name, process string
		gone          bool
	}{
		{"this one", self.Process, false},
		{"one before it with its number", words[0] + " " + words[1] + " 1", true},
		{"one of another machine", "x" + words[0] + " " + words[1] + " 1", false},
		{"one that nobody knows", "", false},
		{"no number", words[0] + " x 1", false},
		{"none with the number", words[0] + " 99999999 1", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := self
			h.Process = tc.process
			dead, err := live.Acquire(t.Context(), c.client, live.NewCommandRunner(c.client), h)
			if err != nil {
				t.Fatal(err)
			}
			next, err := live.Acquire(t.Context(), c.client, live.NewCommandRunner(c.client), self)
			if tc.gone == errors.As(err, new(*live.HeldError)) {
				t.Errorf("taken: %t, %v", next != nil, err)
			}
			if next != nil {
				err = next.RestoreAndRelease(t.Context())
			}
			if err := errors.Join(ignoreHeld(err), dead.RestoreAndRelease(t.Context())); err != nil {
				t.Error(err)
			}
			if n, err := live.LeaseCollectionOf(c.client).CountDocuments(t.Context(), bson.D{}); n != 0 || err != nil {
				t.Errorf("%d leases stay, %v", n, err)
			}
		})
	}
}

func ignoreHeld(err error) error {
	if errors.As(err, new(*live.HeldError)) {
		return nil
	}
	return err
}

// Where the mount of /proc hides processes of other users, one that can't be seen is not
// gone; nor is one that another machine with the same boot id has.
func TestHiddenProcess(t *testing.T) {
	self := live.NewHolder("balance")
	other := self
	other.Host = "resumed"
	hidden := self
	words := strings.Fields(self.Process)
	hidden.Process = words[0] + " 77 5"
	for _, tc := range []struct {
		name   string
		holder live.Holder
		kernel error
		gone   bool
	}{
		{"hidden, and alive", hidden, syscall.EPERM, false},
		{"hidden, of this user", hidden, nil, false},
		{"gone", hidden, syscall.ESRCH, true},
		{"of another host", other, syscall.ESRCH, false},
	} {
		if gone := live.GoneByKernel(t, tc.holder, tc.kernel); gone != tc.gone {
			t.Errorf("%s: gone %t", tc.name, gone)
		}
	}
	if id := live.SelfUnder(t.TempDir()); id != "" {
		t.Errorf("with the /proc of somebody else this process is %q", id)
	}
}
