package action

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/consent"
)

// ScriptGuard applies the policies to single commands of a script that change the distribution of data,
// such as those of sh.moveRange, and writes them to the audit log. Several goroutines may use it at
// once.
type ScriptGuard struct {
	consent Consent
	clock   apply.Clock

	mu           sync.Mutex
	auditLoggers map[*mongo.Client]*auditLogger // of the clusters to which a script has sent such commands
}

// NewScriptGuard returns a ScriptGuard; nil if there is no policy and no audit log.
func NewScriptGuard(c Consent, clock apply.Clock) *ScriptGuard {
	if len(c.Policies)+len(c.AuditDestinations()) == 0 {
		return nil
	}
	return &ScriptGuard{consent: c, clock: clock, auditLoggers: map[*mongo.Client]*auditLogger{}}
}

// distributingCommands are the commands that a ScriptGuard checks, besides writes to config. Servers also
// know most of them in lower case.
var distributingCommands = []string{
	"abortMoveCollection", "abortReshardCollection", "abortUnshardCollection", "addShard", "addShardToZone",
	"balancerStart", "balancerStop", "cleanupReshardCollection", "clearJumboFlag",
	"commitReshardCollection", "commitShardRemoval", "commitTransitionToDedicatedConfigServer",
	"configureCollectionBalancing", "enableSharding", "mergeAllChunksOnShard", "mergeChunks",
	"moveChunk", "moveCollection", "movePrimary", "moveRange", "refineCollectionShardKey",
	"removeShard", "removeShardFromZone", "reshardCollection", "setAllowMigrations", "shardCollection",
	"split", "startShardDraining", "startTransitionToDedicatedConfigServer", "stopShardDraining",
	"stopTransitionToDedicatedConfigServer", "transitionFromDedicatedConfigServer", "transitionToDedicatedConfigServer",
	"unshardCollection", "updateZoneKeyRange",
}

// stoppingCommands are commands that stop something, which is always permitted.
var stoppingCommands = []string{
	"abortMoveCollection", "abortReshardCollection", "abortUnshardCollection", "balancerStop", "stopShardDraining",
	"stopTransitionToDedicatedConfigServer",
}

// isOneOf reports whether a command, in whatever case, is in a list.
func isOneOf(list []string, name string) bool {
	return slices.ContainsFunc(list, func(one string) bool { return strings.EqualFold(one, name) })
}

// isDistributing reports whether a command changes the distribution of data. Routers send the commands
// whose names begin with _ to the members.
func isDistributing(database string, command bson.Raw) bool {
	first, err := command.IndexErr(0)
	if err != nil {
		return false // the server refuses it
	}
	name := first.Key()
	return isOneOf(distributingCommands, name) ||
		database == "config" && isOneOf([]string{"delete", "findAndModify", "insert", "update"}, name) ||
		len(otherConfigWrites(database, command)) > 0 ||
		strings.HasPrefix(name, "_configsvr") || strings.HasPrefix(name, "_shardsvr")
}

// otherConfigWrites returns the collections of the database config to which a command writes that names them
// in its statements or its pipeline.
func otherConfigWrites(database string, command bson.Raw) []string {
	return slices.DeleteFunc(catalog.OutputNamespaces(database, command), func(ns string) bool {
		return !strings.HasPrefix(ns, "config.")
	})
}

// Begin permits a command to the cluster of a client after writing it to the audit log. answered has to
// be called with the outcome of the command; it is nil for commands that a ScriptGuard does not check.
func (s *ScriptGuard) Begin(ctx context.Context, client *mongo.Client, database string, raw bson.Raw) (
	answered func(bson.Raw, error), err error) {
	var command bson.D
	if !isDistributing(database, raw) || bson.Unmarshal(raw, &command) != nil {
		return nil, nil //nolint:nilerr // the server refuses what can't be read
	}
	c := Cluster{Client: client, Clock: s.clock, Consent: s.consent}
	names := namespacesOf(database, command)
	if !isOneOf(stoppingCommands, command[0].Key) {
		o := consent.Request{Verb: consent.VerbCommands, Namespaces: databasesAsPatterns(command[0].Key, names)}
		if err := c.checkPermittedNow(ctx, o); err != nil {
			return nil, err
		}
	}
	a, err := s.openAuditLog(ctx, c)
	if err != nil || a == nil {
		return nil, err
	}
	entry, err := a.logSending(ctx, database, command)
	if err != nil {
		return nil, err
	}
	return func(reply bson.Raw, err error) { a.logAnswer(ctx, entry, reply, err) }, nil
}

// databasesAsPatterns turns the database of a database command into a pattern for all of its collections.
func databasesAsPatterns(name string, names []string) []string {
	if len(names) == 1 && isOneOf(databaseCommands, name) {
		return []string{names[0] + ".*"}
	}
	return names
}

// databaseCommands are the commands that name a database.
var databaseCommands = []string{"enableSharding", "movePrimary"}

// openAuditLog opens the audit log at the first command to a cluster; nil if there is none.
func (s *ScriptGuard) openAuditLog(ctx context.Context, c Cluster) (*auditLogger, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	destinations, a := c.AuditDestinations(), s.auditLoggers[c.Client]
	if a != nil || len(destinations) == 0 {
		return a, nil
	}
	a, err := newAuditLogger(ctx, c, destinations, runStart{verb: consent.VerbCommands})
	if err != nil {
		return nil, err
	}
	s.auditLoggers[c.Client] = a
	return a, nil
}

// Close closes the audit log.
func (s *ScriptGuard) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, a := range s.auditLoggers {
		err = errors.Join(err, a.flushAll(context.Background()), a.sink.Close())
	}
	return err
}
