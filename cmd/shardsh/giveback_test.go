package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/live"
)

func disabled(t *testing.T, client *mongo.Client) int64 {
	t.Helper()
	n, err := client.Database("config").Collection("collections").
		CountDocuments(t.Context(), bson.D{{Key: "noBalance", Value: true}})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What a run has left disabled is known to all that look, and given back by a command;
// while the run is running it is left alone, and nobody is told to enable it.
func TestWhatARunLeftDisabled(t *testing.T) {
	address, _ := heaped(t)
	client := clientOf(t, address)
	run := turnOf(t, client, "balance shop.orders")
	if err := run.SetBalancing(t.Context(), []string{"shop.orders"}, false); err != nil {
		t.Fatal(err)
	}
	shows := func(args []string, code int, want ...string) string {
		t.Helper()
		got, stdout, stderr := runProgram(t, "", args...)
		for _, text := range want {
			if !strings.Contains(strings.Join(strings.Fields(stdout+stderr), " "), text) {
				t.Errorf("%v does not say %q: %s%s", args, text, stdout, stderr)
			}
		}
		if got != code {
			t.Errorf("%v: exit code %d, %s%s", args, got, stdout, stderr)
		}
		return stdout + stderr
	}
	running := "balancing of shop.orders is disabled by a run that is running: balance shop.orders, process 42 on ops1"
	for _, args := range [][]string{{"why", address}, {"why", address, "--ns", "shop.orders"}} {
		if text := shows(args, exitOK, running); strings.Contains(text, "sh.enableBalancing") {
			t.Errorf("%v advises to enable what a run has disabled: %s", args, text)
		}
	}
	shows([]string{"check", address, "--rules", "paused"}, exitOK)
	status := []string{address, "--quiet", "--eval", "printjson(sh.status().value.shardsh)"}
	shows(status, exitOK, "balance shop.orders, process 42 on ops1", "running: 'yes'", "'balancing disabled': 'shop.orders'")

	advance(t, client, 2*time.Minute)
	gone := "balancing of shop.orders was disabled by a run that is gone: balance shop.orders, process 42 on ops1"
	shows([]string{"why", address}, exitOK, gone, "shardsh balance --give-back")
	shows([]string{"check", address, "--rules", "paused"}, exitFindings, gone)
	page := filepath.Join(t.TempDir(), "report.html")
	shows([]string{"report", address, "--quick", "-o", page}, exitOK)
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "balancing of shop.orders was disabled") {
		t.Errorf("the report does not say it, %v", err)
	}
	shows(status, exitOK, "running: 'no'", "giveBack: true")
	if _, stdout, _ := runProgram(t, "", "balance", address, "--give-back", "--dry-run"); disabled(t, client) != 1 ||
		!strings.Contains(stdout, "Balancing of shop.orders was disabled by a run.") {
		t.Errorf("a dry run: %s", stdout)
	}
	shows([]string{"balance", address, "--give-back"}, exitOK, "Balancing of shop.orders is on again.")
	if disabled(t, client) != 0 {
		t.Error("it is still disabled")
	}
	noLease(t, client)
	shows([]string{"balance", address, "--give-back", "--json"}, exitOK, `{"event":"result","enabled":[],"kept":[]}`)
	if _, stdout, _ := runProgram(t, "", address, "--quiet", "--eval", "print(`has`, `shardsh` in sh.status().value)"); !strings.Contains(stdout, "has false") {
		t.Errorf("without a lease: %s", stdout)
	}
}

// Somebody who disables in shardsh's shell what a run has disabled has it stay so.
func TestDisabledDuringARun(t *testing.T) {
	for _, helper := range []string{"disableBalancing", "enableBalancing"} {
		address, _ := heaped(t)
		client := clientOf(t, address)
		run := turnOf(t, client, "balance shop.orders")
		if err := run.SetBalancing(t.Context(), []string{"shop.orders"}, false); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := runProgram(t, "", address, "--quiet", "--eval", "sh."+helper+`("shop.orders")`)
		if code != exitOK || !strings.Contains(stdout, "matchedCount: 1") {
			t.Fatalf("exit code %d, %s%s", code, stdout, stderr)
		}
		if err := run.RestoreAndRelease(t.Context()); err != nil {
			t.Error(err)
		}
		if left := disabled(t, client); (left == 1) != (helper == "disableBalancing") {
			t.Errorf("after %s: %d disabled, %s", helper, left, stderr)
		}
		noLease(t, client)
		if list, err := live.ReadPausedCollections(t.Context(), client); len(list) > 0 || err != nil {
			t.Errorf("%v, %v", list, err)
		}
	}
}
