package main

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/mockoptions"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
)

// clusterFlags select the cluster of a command: a live cluster, a mock, or none.
type clusterFlags struct {
	mockFlags
	server     target.ConnectionFlags
	database   string // of the mock; that of a live cluster is in the address
	nodb       bool
	transcript string
	consentFlags
}

func (o *clusterFlags) addTranscriptFlag(f *pflag.FlagSet) {
	f.StringVar(&o.transcript, "transcript", "", "`FILE` append every command and reply to it, as JSON lines")
}

// errEmptyAddress is the error for an empty argument. An unset variable probably caused it, and it must
// not select the mock or this machine.
var errEmptyAddress = usagef("the address is empty")

// takeAddress parses a word that may be an address. With --mock, it can only be the name of a database.
func (o *clusterFlags) takeAddress(word string) error {
	switch {
	case word == "":
		return errEmptyAddress
	case o.mock != "" && !strings.ContainsAny(word, "/\\. \"$:"):
		o.database = word
	default:
		o.server.Address = word
	}
	return nil
}

// takeOnlyAddress takes the words behind a verb: the address of a cluster, or none. hint ends the
// error for more words.
func (o *clusterFlags) takeOnlyAddress(env environment, words []string, hint string) error {
	switch len(words) {
	case 0:
		return nil
	case 1:
		return o.takeAddress(words[0])
	}
	return usagef("%s takes one address, not also %q%s", env.commandName(), secret.Redact(words[1]), hint)
}

// requireCluster checks that the command line says which cluster, for verbs that don't begin a mock
// of their own accord, and how to reach it.
func (o *clusterFlags) requireCluster(env environment) error {
	if o.mock == "" && o.snapshot == "" && !o.server.IsSet() {
		return usagef("%s needs the address of a cluster, --mock, or --snapshot FILE", env.commandName())
	}
	return o.check()
}

// takeCluster takes the words behind a verb that requires a cluster.
func (o *clusterFlags) takeCluster(env environment, words []string, hint string) error {
	if err := o.takeOnlyAddress(env, words, hint); err != nil {
		return err
	}
	return o.requireCluster(env)
}

// usesMock reports whether the cluster is the mock: it is unless an option or address says where the
// cluster is, or --nodb that there is none.
func (o *clusterFlags) usesMock() bool { return !o.nodb && !o.server.IsSet() }

// constraint is a constraint on the command line.
type constraint struct {
	violated bool
	text     string
}

// firstViolation returns a usage error for the first rule that is broken.
func firstViolation(rules ...constraint) error {
	for _, r := range rules {
		if r.violated {
			return usagef("%s", r.text)
		}
	}
	return nil
}

func (o *clusterFlags) check() error {
	if err := firstViolation(
		constraint{o.nodb && o.mock != "", "--nodb and --mock exclude each other"},
		constraint{o.nodb && o.server.IsSet(), "--nodb needs no host, user or TLS; leave those options out"},
		constraint{o.mock != "" && o.server.Address != "",
			"--mock and the address " + secret.Redact(o.server.Address) + " exclude each other"},
		constraint{o.mock != "" && (o.server.Host != "" || o.server.Port != ""),
			"--mock and --host or --port exclude each other"},
		constraint{
			o.mock != "" && o.server.FirstLiveOption() != "",
			o.server.FirstLiveOption() + " is for a live cluster, not for the mock",
		},
		constraint{!o.usesMock() && o.isLoaded(), "--dbpath and --snapshot are for the mock cluster only"},
		constraint{!o.usesMock() && o.hasMockOptions(),
			"--mock-time, --routers, --set-parameter, --seed, --memory, --server-version and --fcv are " +
				"for the mock cluster only"},
	); err != nil {
		return err
	}
	if err := o.mockFlags.check(); err != nil {
		return err
	}
	return o.server.Check()
}

// mockFlags describe the mock cluster.
type mockFlags struct {
	mock          string
	routers       int    // 0 if it is not specified
	mockTime      string // "", real or virtual
	demo          bool   // give a mock without a topology file some work
	serverVersion catalog.Release
	fcv           string
	parameters    map[string]string
	seed          cmdline.Optional[uint64]
	dbpath        string
	snapshot      string
	memory        cmdline.Optional[int64]
}

// defaultMock is the value of --mock without a value.
const defaultMock = "3"

// mockGroup returns a section with options of the mock, which has its own help page.
func mockGroup(add ...func(f *pflag.FlagSet)) cmdline.Group {
	return cmdline.NewGroup("Mock cluster", func(f *pflag.FlagSet) {
		for _, each := range add {
			each(f)
		}
	}).OnPage("mock", "Mock")
}

func (o *mockFlags) addMockFlag(f *pflag.FlagSet) {
	f.StringVar(&o.mock, "mock", "", "`N|FILE` use a mock cluster: number of shards, or a topology file")
	f.Lookup("mock").NoOptDefVal = defaultMock
}

func (o *mockFlags) addMockTimeFlag(f *pflag.FlagSet) {
	f.StringVar(&o.mockTime, "mock-time", "",
		"`real|virtual|60x` real time, jumps while a script waits, or a pace")
}

func (o *mockFlags) addSnapshotFlag(f *pflag.FlagSet) {
	f.StringVar(&o.snapshot, "snapshot", "", "`FILE` mock the cluster in a file of shardsh snapshot or mock.save()")
}

// addShellOnlyFlags adds the options that only the shell has.
func (o *mockFlags) addShellOnlyFlags(f *pflag.FlagSet) {
	f.IntVar(&o.routers, "routers", 0, "`N` number of mongos (1, or what the topology says)")
	f.StringVar(&o.dbpath, "dbpath", "", "`DIR` store the mock here, or open the stored one")
	cmdline.ParsedVar(f, &o.serverVersion, "server-version",
		"`VERSION` MongoDB release to mock: 2.4, 3.4 to 9.0, or a patch such as 8.0.20 (8.0)", catalog.ParseRelease)
	f.StringVar(&o.fcv, "fcv", "", "`VERSION` feature compatibility version of the mock (that of its release)")
	f.StringToStringVar(&o.parameters, "set-parameter", nil, "`NAME=VALUE` set a server parameter; repeat to add")
	cmdline.OptionalVar(f, &o.memory, "memory", "`SIZE` memory limit of all commands (1GiB; 0: no limit)",
		catalog.ParseSize)
	cmdline.OptionalVar(f, &o.seed, "seed", "`N` random seed; with one, virtual time begins on 2026-01-01",
		cmdline.ParseNumber)
}

// isLoaded reports whether the mock cluster is loaded from a file or directory.
func (o *mockFlags) isLoaded() bool { return o.dbpath != "" || o.snapshot != "" }

// hasMockOptions reports whether any option describes the mock.
func (o *mockFlags) hasMockOptions() bool {
	return o.mockTime != "" || len(o.parameters) > 0 || o.seed.IsSet || o.serverVersion != (catalog.Release{}) ||
		o.fcv != "" || o.memory.IsSet || o.routers != 0
}

func (o *mockFlags) check() error {
	if err := firstViolation(
		constraint{o.mock != "" && o.snapshot != "",
			"--mock and --snapshot exclude each other: a snapshot has its own shards"},
	); err != nil {
		return err
	}
	if o.routers < 0 || o.routers > mock.MaxRouters {
		return usagef("--routers takes 1 to %d, not %d", mock.MaxRouters, o.routers)
	}
	_, err := mockoptions.ParseMockTime(o.mockTime)
	return err
}

// topology returns the topology that --mock describes.
func (o *mockFlags) topology() (*mock.Topology, error) {
	n, isNumber, err := parseShardCount(o.mock)
	switch {
	case err != nil:
		return nil, err
	case isNumber && o.demo:
		return mockoptions.Demo(n), nil
	case isNumber:
		return mock.DefaultTopology(n), nil
	}
	t, err := mock.ReadTopology(o.mock)
	if err != nil {
		return nil, usagef("--mock: %w", err)
	}
	return t, nil
}

// parseShardCount parses --mock as a number of shards; it returns false if the value names a file.
func parseShardCount(text string) (int, bool, error) {
	text = cmp.Or(text, defaultMock)
	if strings.Trim(text, "-0123456789") != "" {
		return 0, false, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1000 {
		return 0, true, usagef("--mock takes 1 to 1000 shards, not %s", text)
	}
	return n, true, nil
}

// commonFlags limit the duration and the notices of a command.
type commonFlags struct {
	timeout time.Duration
	quiet   cmdline.OptionalBool
}

func (o *commonFlags) addTimeoutFlag(f *pflag.FlagSet) {
	cmdline.DurationVar(f, &o.timeout, "timeout", "`TIME` give up after 90, 30s, 5m")
}

func (o *commonFlags) addFlags(f *pflag.FlagSet) {
	o.addTimeoutFlag(f)
	cmdline.OptionalBoolVar(f, &o.quiet, "quiet", "no notices")
}

// safetyFlags say which commands may change something.
type safetyFlags struct {
	readOnly, dryRun, confirm bool
	// rehearses says that a dry run is that of the shell, in which a mock replaces the cluster.
	rehearses bool
}

// mode returns the guard mode (read-only, dry-run, confirm); empty for none.
func (o *safetyFlags) mode() string {
	for _, m := range []struct {
		on   bool
		name string
	}{{o.readOnly, "read-only"}, {o.dryRun, "dry-run"}, {o.confirm, "confirm"}} {
		if m.on {
			return m.name
		}
	}
	return ""
}
