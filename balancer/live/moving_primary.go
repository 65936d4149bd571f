package live

import "context"

// MovePrimaryDatabases returns the databases with a movePrimary in progress.
func MovePrimaryDatabases(ctx context.Context, commands CommandRunner) (list []string, err error) {
	busy, err := (&ActivityReader{Commands: commands}).readOperations(ctx)
	for _, b := range busy {
		if b.Kind == BusyPrimary {
			list = append(list, b.Namespace)
		}
	}
	return list, err
}
