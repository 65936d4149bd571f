package call

import (
	"maps"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/commands"
)

// InitialStage is a first pipeline stage that generates documents instead of changing them.
type InitialStage struct {
	// OnDatabase stages run with {aggregate: 1}.
	OnDatabase bool
	// AdminOnly stages are allowed only on admin.
	AdminOnly bool
	// ChecksDatabase stages check the database themselves, with their own error code.
	ChecksDatabase bool
	// Since is the first release that has the stage; zero for all releases.
	Since catalog.Release
	Run   func(c *Call, ns string, spec bson.RawValue) ([]bson.Raw, error)
}

// Handler executes a command.
type Handler func(*Call) (bson.D, error)

// Command is a command with its implementation.
type Command struct {
	*commands.Command
	Run Handler
}

// Command returns the command of a name, nil if there is none.
func (n *Node) Command(name string) *Command {
	if cmd := n.Table()[name]; cmd != nil && (!cmd.TestOnly || HasTestCommands(n.Cluster)) {
		return cmd
	}
	return nil
}

// Table returns the commands of the release that is installed on the node.
func (n *Node) Table() map[string]*Command {
	installed := n.Release()
	if installed == n.Cluster.Release() || n.CommandsOf == nil {
		return n.Commands
	}
	if known := n.installed.Load(); known != nil && known.release == installed {
		return known.commands
	}
	table := n.CommandsOf(installed)
	n.installed.Store(&installedCommands{installed, table})
	return table
}

// Section is one section of serverStatus, generated on demand.
type Section struct {
	Name     string
	Generate func(*Call) any
}

// OK returns an empty reply for a command without effect or result.
func OK(*Call) (bson.D, error) { return bson.D{}, nil }

// MergeMaps merges maps of commands, or of stages.
func MergeMaps[V any](families ...map[string]V) map[string]V {
	all := map[string]V{}
	for _, family := range families {
		maps.Copy(all, family)
	}
	return all
}
