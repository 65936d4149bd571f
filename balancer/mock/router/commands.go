package router

import "go.mongodb.org/mongo-driver/v2/bson"

// commandTable has every command of the mock's mongos under its name and
// aliases. A command that is not here answers CommandNotFound.
func commandTable() map[string]*command {
	table := map[string]*command{}
	for _, group := range [][]command{
		handshakeCommands(), authenticationCommands(), userCommands(), sessionCommands(), diagnosticCommands(), readCommands(), writeCommands(), explainCommands(),
		catalogCommands(), indexCommands(), statisticsCommands(), balancerCommands(),
		moveCommands(), chunkCommands(), shardingCommands(), reshardingCommands(), zoneCommands(), shardCommands(),
	} {
		for _, cmd := range group {
			table[cmd.name] = &cmd
			for _, alias := range cmd.aliases {
				table[alias] = &cmd
			}
		}
	}
	return table
}

func ok(*Router, *call) (bson.D, error) { return bson.D{}, nil }
