package live

import "context"

// MovingPrimary returns the databases of which a movePrimary is under way.
func MovingPrimary(ctx context.Context, commands CommandRunner) (list []string, err error) {
	busy, err := (&Quiet{Commands: commands}).operations(ctx)
	for _, b := range busy {
		if b.Kind == BusyPrimary {
			list = append(list, b.Namespace)
		}
	}
	return list, err
}
