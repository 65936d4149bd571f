package main

import (
	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/cmd/shardsh/cmdline"
)

// consentFlags say under which conditions a cluster may be changed.
type consentFlags struct{ audit string }

// auditFlag names the audit.
func (o *consentFlags) auditFlag(f *pflag.FlagSet) {
	f.StringVar(&o.audit, "audit", "",
		"`FILE|syslog|cluster` write down each change before it is sent, and its outcome; cluster: shardsh.audit")
}

// consentGroup returns the options, which the help explains on a page of their own.
func (o *consentFlags) consentGroup() cmdline.Group {
	return cmdline.NewGroup("Consent", func(f *pflag.FlagSet) { o.auditFlag(f) }).On("consent", "Consent")
}

func (o *consentFlags) consent() action.Consent { return action.Consent{Audit: o.audit} }
