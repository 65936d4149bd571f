package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snapdir"
	"shardsh/bindings/findings"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/agent"
	"shardsh/cmd/shardsh/buildinfo"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/metadata"
	"shardsh/cmd/shardsh/secret"
)

// mcpFlags are the flags of "shardsh mcp".
type mcpFlags struct {
	sourceFlags
	plans, approve, history string
}

func (o *mcpFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVar(&o.plans, "plans", "", "`DIR` keep plans there, and carry out those that a person has approved")
		f.StringVar(&o.approve, "approve", "", "`HASH` read the plan with this hash in --plans, and approve it")
		f.StringVar(&o.history, "history", "", "`DIR` of shardsh snapshot --into, to compare with")
		addTimeZoneFlag(f, &o.timeZoneName)
		o.addFlags(f)
		f.Lookup("timeout").Usage = "`TIME` end a call that only reads after 90, 30s, 5m (2m)"
	}), o.consentGroup()}
	return append(groups, o.sharedGroups()...)
}

func (o *mcpFlags) parseArgs(env environment, words []string) error {
	if err := firstViolation(
		constraint{o.approve != "" && o.plans == "", "--approve HASH needs --plans DIR, where the plan is"},
		constraint{o.plans != "" && o.from != "", "--plans and --from exclude each other: nothing changes in a file"},
	); err != nil {
		return err
	}
	if o.plans != "" {
		var err error
		if o.plans, err = filepath.Abs(o.plans); err != nil {
			return usagef("--plans: %w", err)
		}
	}
	if o.approve != "" {
		if len(words) > 0 {
			return usagef("--approve HASH asks you, and no cluster: leave %q out", secret.Redact(words[0]))
		}
		return nil
	}
	return o.sourceFlags.parseArgs(env, words)
}

// run implements "shardsh mcp": it serves tools for an agent on standard input and output.
func (o *mcpFlags) run(ctx context.Context, env environment) error {
	store := o.store()
	if o.approve != "" {
		return o.approvePlan(ctx, env, store)
	}
	if isTerminal(env.stdin) {
		return usagef("mcp speaks JSON with the program that starts it, not with people: see shardsh mcp --help")
	}
	if store != nil {
		if err := store.EnsureDir(); err != nil {
			return err
		}
	}
	opened := &agentCluster{env: env, o: o}
	defer opened.close()
	server := agent.New(agent.Options{
		Version: buildinfo.Version(), Open: opened.source, Cluster: opened.cluster, Plans: store,
		History: o.historyFinder(), Timeout: time.Duration(o.timeout), Redact: secret.Redact,
	})
	return server.Serve(ctx, io.NopCloser(env.stdin), nopCloseWriter{env.stdout})
}

// nopCloseWriter is a writer whose Close does nothing.
type nopCloseWriter struct{ io.Writer }

func (nopCloseWriter) Close() error { return nil }

// store returns the directory of plans; nil if there is none.
func (o *mcpFlags) store() *agent.Plans {
	if o.plans == "" {
		return nil
	}
	return &agent.Plans{
		Dir: o.plans, ApprovalCommand: "shardsh mcp --plans " + shellWord(o.plans) + " --approve", Now: time.Now,
	}
}

// historyFinder returns a function that finds snapshots of --history; nil without it.
func (o *mcpFlags) historyFinder() func(time.Time) (*catalog.Snapshot, error) {
	if o.history == "" {
		return nil
	}
	return func(at time.Time) (*catalog.Snapshot, error) {
		kept, _, err := snapdir.NewestBefore(o.history, at)
		if err != nil {
			return nil, err
		}
		return metadata.Open(kept.Path)
	}
}

// shellWord quotes a word for a shell if necessary.
func shellWord(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// approvePlan shows a plan to a person on a terminal, and asks for approval.
func (o *mcpFlags) approvePlan(ctx context.Context, env environment, store *agent.Plans) error {
	approved, err := store.Plan(o.approve)
	if err != nil {
		return err
	}
	terminal, err := openTerminal(env)
	if err != nil {
		return fmt.Errorf("a plan is approved on a terminal: %w", err)
	}
	defer func() { _ = terminal.Close() }() // nothing is buffered
	env.streams = streams{terminal, terminal, terminal}
	shown := plaintext.NewWriter(terminal)
	if _, err := fmt.Fprint(shown, findings.PlanApprovalText(approved, findings.PlanDetail{})); err != nil {
		return err
	}
	if err := confirm(ctx, env, "Let the agent carry out this plan within the next 24 hours?"); err != nil {
		return err
	}
	return store.Approve(o.approve)
}

// agentCluster is the cluster of an agent. It connects when the first call needs it. If the cluster
// does not answer, the call returns an error, and the agent may try again.
type agentCluster struct {
	env environment
	o   *mcpFlags

	mu   sync.Mutex
	conn *connection
}

func (c *agentCluster) connection(ctx context.Context) (*connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		conn, err := connect(ctx, c.env, &c.o.clusterFlags, connectOptions{readsOnly: c.o.plans == "", quiet: true})
		if err != nil {
			return nil, err
		}
		c.conn = conn
	}
	return c.conn, nil
}

// source returns the cluster for calls that only read.
func (c *agentCluster) source(ctx context.Context) (action.Source, error) {
	if c.o.from != "" {
		s, err := metadata.Open(c.o.from)
		return action.Source{Snapshot: s, TimeZone: c.o.location}, err
	}
	conn, err := c.connection(ctx)
	if err != nil {
		return action.Source{}, err
	}
	source := conn.source(c.o.usesMock())
	source.TimeZone = c.o.location
	return source, nil
}

// cluster returns the cluster for calls that change it.
func (c *agentCluster) cluster(ctx context.Context) (action.Cluster, error) {
	conn, err := c.connection(ctx)
	if err != nil {
		return action.Cluster{}, err
	}
	clock := conn.clock
	if clock == nil {
		clock = script.WallClock()
	}
	return conn.actionCluster(clock), nil
}

func (c *agentCluster) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		c.conn.close()
	}
}

func mcpText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Serves tools about one cluster to an agent, such as an assistant, that starts it and
speaks the Model Context Protocol (MCP) on standard input and output. The tools are
those of the subcommands: why, check, plan, forecast, simulate, snapshot, diff,
advise, docs. They only read, and no tool takes an address, a file or a script.`,
		Examples: []string{
			"shardsh mcp mongodb://host:27017 --passwordFile secret",
			"shardsh mcp --from cluster.snap",
			"shardsh mcp mongodb://host:27017 --plans /var/lib/shardsh/plans",
			"shardsh mcp --plans /var/lib/shardsh/plans --approve 0d8f…",
		},
		More: `With --plans DIR there is one tool more, apply: it carries out a plan that a person
has approved by its hash, and nothing else. The agent has it made with the tool plan,
and a person reads and approves it with --approve HASH, on a terminal; that counts
for 24 hours. Policies, the audit, the lease and limits count as for shardsh apply.
The agent must not be able to write to DIR by other means.`,
	}
}
