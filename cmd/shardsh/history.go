package main

import (
	"context"
	"time"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/action"
	"shardsh/bindings/actiontext"
	"shardsh/cmd/shardsh/cmdline"
)

// historyFlags are the flags of "shardsh history".
type historyFlags struct {
	clusterFlags
	commonFlags
	json       bool
	since      time.Duration
	namespaces []string
	verb       string
	last       int

	action action.ReadAuditLog
}

func (o *historyFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVar(&o.audit, "audit", "", "`FILE|cluster` read this file, or the cluster's shardsh.audit (default)")
		cmdline.DurationVar(f, &o.since, "since", "`TIME` only the last 90, 30m, 24h, 7d")
		f.StringArrayVar(&o.namespaces, "ns", nil, "`DB.COLLECTION` only these, * is a wildcard; repeat to add")
		f.StringVar(&o.verb, "verb", "", "`VERB` only runs of apply, balance, drain, …")
		f.IntVar(&o.last, "last", action.DefaultAuditLogEntries, "`N` the newest ones; 0 is all")
		f.BoolVar(&o.json, "json", false, "print JSON")
		o.commonFlags.addFlags(f)
	})}
	groups = append(groups, o.server.Flags()...)
	return append(groups, mockGroup(o.addMockFlag, o.addSnapshotFlag))
}

func (o *historyFlags) parseArgs(env environment, words []string) error {
	if err := o.takeOnlyAddress(env, words, ""); err != nil {
		return err
	}
	allowed, err := o.consent(env)
	if err != nil {
		return err
	}
	if o.audit == "" {
		o.audit = allowed.HistorySource()
	}
	o.action = action.ReadAuditLog{
		AuditDestination: o.audit, MaxAge: o.since, Namespaces: o.namespaces, Verb: o.verb, Last: o.last,
	}
	if o.action.ReadsCluster() && o.mock == "" && o.snapshot == "" && !o.server.IsSet() {
		return usagef("history needs --audit FILE, or the address of a cluster with shardsh.audit")
	}
	if err := o.clusterFlags.check(); err != nil {
		return err
	}
	return optionsUsageError(o.action.Validate())
}

// run implements "shardsh history": it shows who has changed the cluster.
func (o *historyFlags) run(ctx context.Context, env environment) error {
	ctx, cancel := o.withTimeout(ctx)
	defer cancel()
	var client *mongo.Client
	if o.action.ReadsCluster() {
		conn, err := connect(ctx, env, &o.clusterFlags, connectOptions{readsOnly: true, quiet: true})
		if err != nil {
			return preferTimeout(ctx, err)
		}
		defer conn.close()
		client = conn.client
	}
	result, err := o.action.Run(ctx, client, time.Now())
	if err != nil {
		return preferTimeout(ctx, withFlagNames(err))
	}
	if o.json {
		return writeJSON(env.jsonOut(), result.Records)
	}
	_, err = env.out().Write([]byte(actiontext.History(result)))
	return err
}

func historyText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Shows what the audit has: who has changed the cluster, from where, with which verb,
plan and command, and what became of it; the newest last. Runs write it down with
--audit FILE, or --audit cluster, or as the policy says. At the prompt,
sh.history() does the same.`,
		Examples: []string{
			"shardsh history mongodb://host:27017",
			"shardsh history --audit /var/log/shardsh.jsonl --since 24h --ns 'shop.*'",
			"shardsh history mongodb://host:27017 --verb drain --last 0 --json",
		},
		More: `Each command has two lines in the audit, one from before it was sent. Where the
second one is missing the run was killed: the command may have been carried out.
What went to syslog only syslog shows: journalctl -t shardsh.`,
	}
}
