package live

import "context"

// ReadMovePrimaryDatabases returns the databases with a movePrimary in progress.
func ReadMovePrimaryDatabases(ctx context.Context, commands CommandRunner) (list []string, err error) {
	busy, err := (&ActivityReader{Commands: commands}).readOperations(ctx)
	for _, b := range busy {
		if b.Kind == ActivityMovePrimary {
			list = append(list, b.Namespace)
		}
	}
	return list, err
}
