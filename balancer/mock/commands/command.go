// Package commands is the table of the commands. An entry says from which release on a mongos has the
// command, which nodes it contacts, whether it writes, who may run it and which fields it accepts. The
// package holds only data. The router executes commands according to it, and --read-only uses it to
// decide which commands to allow.
package commands

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// Command describes a command without its implementation.
type Command struct {
	Name    string
	Aliases []string
	// Since is the first release that has the command; zero if all releases have it.
	Since catalog.Release
	// AdminOnly commands fail with error 13 on other databases.
	AdminOnly bool
	// Stable commands belong to version 1 of the Stable API.
	Stable bool
	// ReadConcern commands accept a read concern. Others reject levels other than local with error 72.
	ReadConcern bool
	// WriteConcern commands accept a write concern. Others reject it with error 72.
	WriteConcern bool
	// AwaitsRequestedNodes commands wait for the nodes that their write concern names. Others wait for a
	// majority.
	AwaitsRequestedNodes bool
	// Retryable commands accept txnNumber.
	Retryable bool
	// Contacts are the nodes that the command contacts in addition to the owners of its documents.
	Contacts Nodes
	Effect   Effect
	// NoAuth commands need no authentication. For other commands Privilege reports whether the user's
	// roles allow them.
	NoAuth    bool
	Privilege access.Rule
	// Fields are checked before the command runs; nil for commands that parse their fields by hand.
	Fields []args.Field
	// ErrorPrefix is the prefix of field names in error messages; nil for the command's name.
	ErrorPrefix *string
	// ParsedAt says when the fields are checked.
	ParsedAt Parsing
	// Strict commands reject unknown fields with error 40415.
	Strict bool
	// TestOnly commands exist only if the server was started with enableTestCommands.
	TestOnly bool
	// MockOnly commands are the mock's own commands, which no fault stops.
	MockOnly bool
	// WithoutLock commands run without the cluster's lock and take no virtual time.
	WithoutLock bool
	// MembersOnly commands exist on shards and config servers but not on mongos.
	MembersOnly bool
	// Refused is the reason why the mock does not implement a command; nil if it does.
	Refused *Refusal
}

// Nodes are nodes that a command always contacts, in addition to the shards that own the documents it
// reads or writes. DDL commands contact every shard. A server's coordinator waits for unavailable
// shards; the mock fails instead.
type Nodes uint8

// Nodes that a command may contact.
const (
	ConfigServer Nodes = 1 << iota
	EveryShard
	Owners // the shards that own the namespace
	// OwnersUnversioned are owners that are contacted without a shard version check.
	OwnersUnversioned
	PrimaryShard
)

// Parsing says when a server parses a command's fields.
type Parsing uint8

// The times at which fields are parsed.
const (
	// AtOnce is before maxTimeMS, the read and write concern and the database are checked.
	AtOnce Parsing = iota
	// NameFirst parses the value of the command's name at once and the other fields when the command
	// runs.
	NameFirst
	// Late is when the command runs, after the checks of the database and of the privileges.
	Late
)

// Effect says what a command changes.
type Effect uint8

// The effects of commands. There is no default.
const (
	_ Effect = iota
	// Reads changes only the client's own connection and sessions.
	Reads
	// Interrupts changes no stored data but may end operations of other clients.
	Interrupts
	// Writes changes, or may change, data, metadata or settings.
	Writes
)

// Parse checks the declared fields of a command and returns the present ones.
func (c *Command) Parse(body bson.Raw) (args.Values, error) {
	parsed, err := c.spec().Parse(body)
	if err != nil {
		return nil, err
	}
	return parsed, c.spec().CheckNamespaces(parsed)
}

// ParseFirst checks the fields that a server checks before all other checks.
func (c *Command) ParseFirst(body bson.Raw) (args.Values, error) {
	switch c.ParsedAt {
	case AtOnce:
		return c.spec().Parse(body)
	case NameFirst:
		return c.spec().ParseOnlyCommandValue(body)
	}
	return nil, c.spec().CheckMaxTimeAndFieldNames(body)
}

// ParseRest checks, when the command runs, the fields that ParseFirst did not check.
func (c *Command) ParseRest(body bson.Raw, first args.Values) (args.Values, error) {
	if c.ParsedAt != AtOnce {
		return c.Parse(body)
	}
	return first, c.spec().CheckNamespaces(first)
}

func (c *Command) spec() args.Spec {
	return args.Spec{Name: c.Name, Aliases: c.Aliases, ErrorPrefix: c.ErrorPrefix, Fields: c.Fields, Strict: c.Strict}
}

// ExistsIn reports whether a release has the command.
func (c *Command) ExistsIn(r catalog.Release) bool {
	return c.Since == catalog.Release{} || r.FCVAtLeast(c.Since)
}

// ForRelease returns the command without the fields of later releases.
func (c Command) ForRelease(r catalog.Release) Command {
	c.Fields = args.FieldsFor(r, c.Fields)
	return c
}

// TargetsCollection reports whether the command's value names a collection of its
// database.
func (c *Command) TargetsCollection() bool {
	return slices.ContainsFunc(c.Fields, func(f args.Field) bool {
		return f.Name() == c.Name && (f.Kind() == args.Collection || f.Kind() == args.OldCollection)
	})
}

// Names returns the name and the aliases of the command.
func (c *Command) Names() []string { return append([]string{c.Name}, c.Aliases...) }

// WritesResults reports whether a command's pipeline has $out or $merge. An invalid pipeline counts as
// writing.
func WritesResults(body bson.Raw) bool {
	stages, isArray := body.Lookup("pipeline").ArrayOK()
	if !isArray {
		return false
	}
	values, err := stages.Values()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(values, func(v bson.RawValue) bool {
		stage, _ := v.DocumentOK()
		return !stage.Lookup("$out").IsZero() || !stage.Lookup("$merge").IsZero()
	})
}
