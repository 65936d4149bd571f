package catalog

// Disk is the volume that contains the data of a shard's primary. The zero value means that the sizes
// are not known.
type Disk struct {
	Total int64
	// Used includes other data on the volume, and free space inside data files.
	Used int64
}

// Known reports whether the sizes are known.
func (d Disk) Known() bool { return d.Total > 0 }

// Free returns the number of free bytes.
func (d Disk) Free() int64 { return max(0, d.Total-d.Used) }

// UsedShare returns the used fraction of the volume, from 0 to 1.
func (d Disk) UsedShare() float64 {
	if d.Total <= 0 {
		return 0
	}
	return float64(d.Used) / float64(d.Total)
}

// FreeBelow returns the number of free bytes below a limit, which is a fraction of the volume. It is
// negative if the limit is exceeded.
func (d Disk) FreeBelow(limit float64) int64 { return int64(limit*float64(d.Total)) - d.Used }
