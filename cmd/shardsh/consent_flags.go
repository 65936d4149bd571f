package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/consent"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/cmd/shardsh/cmdline"
)

// consentFlags are the conditions under which a cluster may be changed.
type consentFlags struct{ audit, policy string }

// addConsentFlags adds the options for the audit log and the policy.
func (o *consentFlags) addConsentFlags(f *pflag.FlagSet) {
	f.StringVar(&o.audit, "audit", "",
		"`FILE|syslog|cluster` write down each change before it is sent, and its outcome; cluster: shardsh.audit")
	f.StringVar(&o.policy, "policy", "",
		"`FILE` what may be changed: verbs, hours, collections, limits; SHARDSH_POLICY and the machine's apply, too")
}

// consentGroup returns these options, which have their own help page.
func (o *consentFlags) consentGroup() cmdline.Group {
	return cmdline.NewGroup("Consent", o.addConsentFlags).OnPage("consent", "Consent")
}

// consent reads the policies. All policies apply: no option can disable the policy of the machine.
func (o *consentFlags) consent(env environment) (action.Consent, error) {
	c := action.Consent{AuditDestination: o.audit}
	named, _ := env.getenv("SHARDSH_POLICY")
	files := []string{named, o.policy}
	for _, name := range []string{"policy.json", "policy.yaml"} {
		file := filepath.Join(cmp.Or(env.policyDir, systemPolicies()), name)
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		if file == "" {
			continue
		}
		p, err := consent.Load(file)
		if err != nil {
			return c, err
		}
		c.Policies = append(c.Policies, p)
	}
	return c, nil
}

// systemPolicies returns the directory of the machine's policies.
func systemPolicies() string {
	if runtime.GOOS == "windows" {
		return filepath.Join(os.Getenv("ProgramData"), "shardsh")
	}
	return "/etc/shardsh"
}

// scriptGuardHook returns a hook for the shell's single commands that change how data is distributed. The
// hook applies the policies and the audit log.
func (c *connection) scriptGuardHook(env environment) (sending server.SendHook, leave func()) {
	clock := c.clock
	if clock == nil {
		clock = script.WallClock()
	}
	direct := action.NewScriptGuard(c.consent, clock)
	if direct == nil {
		return nil, func() {}
	}
	return direct.Begin, func() {
		if err := direct.Close(); err != nil {
			notice(env.stderr, false, "shardsh: %s", err)
		}
	}
}
