package router

import (
	"maps"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/commands"
)

// handler answers a command.
type handler func(*call) (bson.D, error)

// command is a command with what answers it.
type command struct {
	*commands.Command
	run handler
}

// commandTable has every command of a mongos of the release under its name and
// aliases. A command that is not here answers CommandNotFound.
func commandTable(r catalog.Release) map[string]*command { return tableOf(mongosHandlers(), r) }

// mongosHandlers returns what a mongos does, by the commands' names.
func mongosHandlers() map[string]handler {
	all := map[string]handler{}
	for _, family := range []map[string]handler{
		handshakeHandlers(), authenticationHandlers(), accountHandlers(), sessionHandlers(),
		diagnosticHandlers(), nodeHandlers(), parameterHandlers(), operationHandlers(),
		readHandlers(), writeHandlers(), bulkWriteHandlers(), explainHandlers(),
		catalogHandlers(), collectionHandlers(), indexHandlers(), statisticsHandlers(),
		balancerHandlers(), moveHandlers(), chunkHandlers(), zoneHandlers(),
		shardingHandlers(), reshardingHandlers(), analyzerHandlers(),
		shardHandlers(), drainingHandlers(), clusterHandlers(), clusterParameterHandlers(),
		mockHandlers(), failPointHandlers(), snapshotHandlers(),
	} {
		maps.Copy(all, family)
	}
	for _, cmd := range commands.All() {
		if cmd.Refused != nil {
			all[cmd.Name] = refused(cmd)
		}
	}
	return all
}

// refused answers a command that the mock does not do, once it is well-formed.
func refused(cmd commands.Command) handler {
	return func(c *call) (bson.D, error) {
		if cmd.OnCollection() {
			if _, err := c.namespace(); err != nil {
				return nil, err
			}
		}
		return nil, cmd.Refused.Err(c.invoked)
	}
}

// tableOf joins handlers to what the table says of their commands in a release,
// by names and aliases.
func tableOf(handlers map[string]handler, r catalog.Release) map[string]*command {
	table := map[string]*command{}
	for _, cmd := range commands.All() {
		run := handlers[cmd.Name]
		if run == nil || !cmd.In(r) {
			continue
		}
		cmd = cmd.At(r)
		for _, name := range cmd.Names() {
			table[name] = &command{&cmd, run}
		}
	}
	return table
}

func ok(*call) (bson.D, error) { return bson.D{}, nil }
