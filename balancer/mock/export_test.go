package mock

// RunNextEvent runs the event that is due next, whenever that is.
func (c *Cluster) RunNextEvent() bool { return c.queue.RunNext() }
