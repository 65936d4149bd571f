package router

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// commandTable has every command of the mock's mongos under its name and
// aliases. A command that is not here answers CommandNotFound.
func commandTable() map[string]*command {
	return tableOf(slices.Concat(
		handshakeCommands(), authenticationCommands(), userCommands(), sessionCommands(), diagnosticCommands(), readCommands(), writeCommands(), explainCommands(),
		catalogCommands(), indexCommands(), statisticsCommands(), balancerCommands(),
		moveCommands(), chunkCommands(), shardingCommands(), reshardingCommands(), zoneCommands(), shardCommands(),
		parameterCommands(), operationCommands(), mockCommands(),
		collectionCommands(),
	))
}

// tableOf finds commands by their names and aliases; the last of a name counts.
func tableOf(commands []command) map[string]*command {
	table, needs := map[string]*command{}, participantsOf()
	for _, cmd := range commands {
		cmd.needs = needs[cmd.name]
		table[cmd.name] = &cmd
		for _, alias := range cmd.aliases {
			table[alias] = &cmd
		}
	}
	return table
}

func ok(*Router, *call) (bson.D, error) { return bson.D{}, nil }
