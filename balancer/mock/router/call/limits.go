package call

// Limits that hello announces (spec 03 §1.9).
const (
	MaxDocumentBytes = 16 << 20
	MaxMessageBytes  = 48_000_000
	MaxWriteBatch    = 100_000
)
