package call

// Limits that hello announces (rules/03-commands §1.9).
const (
	MaxDocumentBytes = 16 << 20
	MaxMessageBytes  = 48_000_000
	MaxWriteBatch    = 100_000
)
