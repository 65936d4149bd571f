// Package commands is the table of what a command is: since which release a
// mongos has it, whom it asks, whether it writes, who may run it and what fields
// it takes. It is data only. The router answers by it, and the command line asks
// it what --read-only lets pass.
package commands

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

// Command describes a command, except for its implementation.
type Command struct {
	Name    string
	Aliases []string
	// Since is the first release that has it, zero for those that all have.
	Since catalog.Release
	// AdminOnly: refused with 13 on any other database.
	AdminOnly bool
	// Stable: in version 1 of the stable API.
	Stable bool
	// ReadConcern is taken; others refuse levels other than local with 72.
	ReadConcern bool
	// WriteConcern is taken; others refuse the argument with 72.
	WriteConcern bool
	// Retryable: takes txnNumber.
	Retryable bool
	// Asks are nodes besides those of the documents it reads or writes.
	Asks   Nodes
	Effect Effect
	// NoAuth may run it, authenticated or not; of others Privilege reports whether
	// their roles allow it.
	NoAuth    bool
	Privilege access.Rule
	// Fields are checked before the command runs; nil for commands that read theirs
	// by hand.
	Fields []args.Field
	// Place is what messages about fields have before their names; nil for the command's name.
	Place *string
	// ParsedAt is when they are.
	ParsedAt Parsing
	// Strict: unknown fields are refused with 40415.
	Strict bool
	// TestOnly: there only where the parameter enableTestCommands was set at the start.
	TestOnly bool
	// MockOnly: a command of the mock's own, which no fault stops.
	MockOnly bool
	// WithoutLock runs without the cluster's lock and takes no virtual time.
	WithoutLock bool
	// MembersOnly: no mongos has it, but shards and config servers.
	MembersOnly bool
	// Refused is why the mock does not do what a mongos does; nil where it does.
	Refused *Refusal
}

// Nodes are the nodes that a command always asks; the shards that hold the
// documents it reads or writes come on top. DDL commands go to every shard: a
// server's coordinator would wait for those that are away, the mock refuses.
type Nodes uint8

// Nodes that a command may ask.
const (
	ConfigServer Nodes = 1 << iota
	EveryShard
	Owners // of the namespace
	// OwnersUnversioned are those that are asked whatever the router knows of their versions.
	OwnersUnversioned
	Primary
)

// Parsing is when a server reads a command's fields.
type Parsing uint8

// When fields are read.
const (
	// AtOnce, before maxTimeMS, the concerns and the database.
	AtOnce Parsing = iota
	// NameFirst: the value of the command's name at once, the others when it runs.
	NameFirst
	// Late, when the command runs: on the right database, by who may.
	Late
)

// Effect is what a command changes.
type Effect uint8

// Effects of commands. There is no default.
const (
	_ Effect = iota
	// Reads changes nothing but the client's own connection and sessions.
	Reads
	// Interrupts changes nothing that is kept, but may end what others do.
	Interrupts
	// Writes changes data, metadata or settings, or may.
	Writes
)

// Parse checks the declared fields of a command and returns those that it has.
func (c *Command) Parse(body bson.Raw) (args.Values, error) {
	parsed, err := c.spec().Parse(body)
	if err != nil {
		return nil, err
	}
	return parsed, c.spec().CheckNames(parsed)
}

// ParseFirst checks what a server looks at before anything else of a command.
func (c *Command) ParseFirst(body bson.Raw) (args.Values, error) {
	switch c.ParsedAt {
	case AtOnce:
		return c.spec().Parse(body)
	case NameFirst:
		return c.spec().ParseName(body)
	}
	return nil, c.spec().ParseMaxTime(body)
}

// ParseRest checks, when the command runs, what ParseFirst has left.
func (c *Command) ParseRest(body bson.Raw, first args.Values) (args.Values, error) {
	if c.ParsedAt != AtOnce {
		return c.Parse(body)
	}
	return first, c.spec().CheckNames(first)
}

func (c *Command) spec() args.Spec {
	return args.Spec{Name: c.Name, Aliases: c.Aliases, Place: c.Place, Fields: c.Fields, Strict: c.Strict}
}

// ExistsIn reports whether a release has the command.
func (c *Command) ExistsIn(r catalog.Release) bool {
	return c.Since == catalog.Release{} || r.AtLeast(c.Since)
}

// ForRelease returns the command as a release has it: without the fields of later ones.
func (c Command) ForRelease(r catalog.Release) Command {
	c.Fields = args.FieldsFor(r, c.Fields)
	return c
}

// TakesCollection reports whether the command's value names a collection of its
// database.
func (c *Command) TakesCollection() bool {
	return slices.ContainsFunc(c.Fields, func(f args.Field) bool {
		return f.Name() == c.Name && (f.Kind() == args.Collection || f.Kind() == args.OldCollection)
	})
}

// Names returns the name and the aliases.
func (c *Command) Names() []string { return append([]string{c.Name}, c.Aliases...) }

// WritesResults reports whether a command's pipeline has $out or $merge, or is
// none.
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
