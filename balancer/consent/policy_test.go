package consent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const whole = `
verbs: [apply, balance, quiesce]
namespaces: ["shop.*", crm.contacts]
hours: ["22:00-06:00 UTC", "12:00-13:00 Europe/Berlin"]
limits: {max-moves: 5000, max-bytes: 2TB, for: 8h, parallel: 2, disk-limit: 85%}
defaults: {max-moves: 500, max-bytes: 50GB}
audit: syslog
`

func parsed(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p.File = "p.yaml"
	return p
}

// YAML and JSON say the same.
func TestParse(t *testing.T) {
	yaml := parsed(t, whole)
	json := parsed(t, `{"verbs": ["apply", "balance", "quiesce"], "namespaces": ["shop.*", "crm.contacts"],
		"hours": ["22:00-06:00 UTC", "12:00-13:00 Europe/Berlin"], "limits": {"max-moves": 5000, "max-bytes": "2TB",
		"for": "8h", "parallel": 2, "disk-limit": "85%"}, "defaults": {"max-moves": 500, "max-bytes": "50GB"}, "audit": "syslog"}`)
	for _, p := range []*Policy{yaml, json} {
		if p.Limits != (Limits{5000, 2e12, 8 * time.Hour, 2, 0.85}) || p.Defaults != (Limits{Moves: 500, Bytes: 5e10}) ||
			len(p.Verbs) != 3 || len(p.Namespaces) != 2 || len(p.Hours) != 2 || p.AuditDestination != "syslog" || p.RequiresApproval {
			t.Errorf("%+v", p)
		}
	}
}

// What a policy does not know is an error: a rule that was misspelled allows everything.
func TestParseRefuses(t *testing.T) {
	for text, reason := range map[string]string{
		"":                                 "it is empty",
		"verb: [apply]":                    "field verb not found",
		"limits: {moves: 5}":               "field moves not found",
		"verbs: [apply]\n---\nverbs: []":   "more than one document",
		"verbs: [aply]":                    `"aply" is not one of apply, balance`,
		"verbs: apply":                     "cannot unmarshal",
		"verbs: []":                        "verbs: it is empty",
		"namespaces:\naudit: syslog":       "namespaces: it is empty",
		"namespaces: ['shop.[']":           "is not a valid pattern",
		"namespaces: ['']":                 "is not a valid pattern",
		"hours: ['22:00-06:00']":           "has no time zone",
		"hours: ['22:00 UTC']":             "is not a valid window",
		"hours: ['22:00-06:00 Mars']":      "Mars",
		"limits: {max-moves: 0}":           "limits.max-moves: \"0\" is not a limit above 0",
		"limits: {max-moves: none}":        "is not a limit above 0",
		"limits: {max-bytes: much}":        "is not a limit above 0",
		"limits: {for: -1h}":               "is not a limit above 0",
		"limits: {disk-limit: 850%}":       "limits.disk-limit: \"850%\" is not a share such as 85%",
		"defaults: {disk-limit: 85%}":      "defaults are of max-moves and max-bytes",
		"defaults: {parallel: 3}":          "defaults are of max-moves and max-bytes",
		"require-approval: perhaps":        "cannot unmarshal",
		"verbs: [apply]\nverbs: [balance]": "already defined",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want %s", text, err, reason)
		}
	}
}

func TestPermit(t *testing.T) {
	p := parsed(t, whole)
	approving := parsed(t, "require-approval: true")
	for _, c := range []struct {
		p    *Policy
		o    Request
		rule string
	}{
		{p, Request{Verb: "balance", Namespaces: []string{"shop.orders", "crm.contacts"}}, ""},
		{p, Request{Verb: "balance", Namespaces: []string{"shop.*"}}, ""},
		{p, Request{Verb: "balance", Namespaces: []string{"shop.or?ers"}}, ""},
		{p, Request{Verb: "quiesce"}, ""},
		{p, Request{Verb: "balance", Namespaces: []string{"shop.system.buckets.metrics"}}, ""},
		{parsed(t, "namespaces: [shop.metrics]"), Request{Verb: "apply", Namespaces: []string{"shop.system.buckets.metrics"}}, ""},
		{parsed(t, "namespaces: [shop.metrics]"), Request{Verb: "apply", Namespaces: []string{"shop.system.buckets.m"}}, "namespaces"},
		{p, Request{Verb: "drain"}, "verbs"},
		{p, Request{Verb: "balance", Namespaces: []string{"shop.orders", "crm.x"}}, "namespaces"},
		{p, Request{Verb: "balance", Namespaces: []string{"s*"}}, "namespaces"},
		{p, Request{Verb: "balance", Namespaces: []string{"*"}}, "namespaces"},
		{p, Request{Verb: "balance", Namespaces: []string{"crm.c*"}}, "namespaces"},
		{p, Request{Verb: "balance", All: true}, "namespaces"},
		{parsed(t, "namespaces: ['*']"), Request{Verb: "balance", All: true}, ""},
		{approving, Request{Verb: "apply"}, "require-approval"},
		{approving, Request{Verb: "apply", Approved: true}, ""},
		{approving, Request{Verb: "balance", All: true}, "require-approval"},
		{approving, Request{Verb: "quiesce"}, ""},
	} {
		err := c.p.CheckRequest(c.o)
		refused := new(RefusedError)
		if is := errors.As(err, &refused); is != (c.rule != "") || is && (refused.Rule != c.rule || refused.File != c.p.File ||
			!strings.Contains(err.Error(), "the rule "+c.rule+" of the policy p.yaml")) && c.p == p {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

func TestOpen(t *testing.T) {
	p := parsed(t, whole)
	for at, open := range map[string]bool{
		"2026-03-02T21:59:00Z": false, "2026-03-02T22:00:00Z": true, "2026-03-03T05:59:00Z": true, "2026-03-03T06:01:00Z": false,
		"2026-03-02T11:30:00Z": true, "2026-07-02T11:30:00Z": false, "2026-07-02T10:30:00Z": true,
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CheckHours(now); (err == nil) != open || err != nil && !strings.Contains(err.Error(), "the hours are 22:00-06:00 UTC, ") {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// TestLoadWholeFile: a policy is read to its end, or refused.
func TestLoadWholeFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	const rule = "require-approval: true\n"
	for _, c := range []struct {
		text  string
		loads bool
	}{{rule, true}, {"verbs: [apply]\n" + strings.Repeat("# a comment\n", maxBytes/12) + rule, false}} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := Load(file)
		if (err == nil) != c.loads || err == nil && !p.RequiresApproval {
			t.Errorf("%d bytes: %+v, %v", len(c.text), p, err)
		}
	}
}
