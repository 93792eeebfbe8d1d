package lead

import "slices"

// The states of an address that decide something.
const (
	EmailValid   = "valid"   // its mailbox exists
	EmailInvalid = "invalid" // mail to it would bounce

	emailUnknown = "unknown" // somebody looked and found nothing out
)

// email settles the address and its state, which come and go together, and takes
// both out of p.
//
// A verified address takes the place of one that is not; between two of a kind the
// newer one counts, as everywhere. The one that the lead came with gives way only
// if overwrite allows it, and only to a verified one. An address that is said not
// to exist is not taken, from no later answer either unless that one verified it;
// nor is one of an office, such as info@.
func (m *merge) email(p Profile) {
	address, state := p[PersonEmail], p[PersonEmailStatus]
	delete(p, PersonEmail)
	delete(p, PersonEmailStatus)
	known := m.Profile[PersonEmail]
	switch {
	case address == "":
		m.state(state) // of the known address: nobody can be asked about another
		return
	case known != "" && SameValue(PersonEmail, known, address):
		m.confirm(PersonEmail)
		m.state(state)
		return
	case m.isDead(address, state):
	case m.from.Provider != OriginSource && IsRoleAddress(address): // an office's: whoever writes to it does not write to this person
	case known == "":
		m.drop(PersonEmailStatus)
		m.fill(PersonEmail, address)
		m.state(state)
		return
	case m.addressGivesWay(state):
		m.drop(PersonEmailStatus)
		m.replace(PersonEmail, address)
		m.state(state)
		return
	}
	m.conflict(PersonEmail, address)
	m.conflict(PersonEmailStatus, state)
}

// isDead reports whether an address that is not the known one does not exist, by
// this answer or by an earlier one, and remembers it.
func (m *merge) isDead(address, state string) bool {
	key := EmailKey(address)
	switch state {
	case EmailInvalid:
		m.bury(key)
	case EmailValid:
		m.Invalid = slices.DeleteFunc(m.Invalid, func(k string) bool { return k == key })
	}
	return slices.Contains(m.Invalid, key)
}

func (m *merge) bury(key string) {
	if !slices.Contains(m.Invalid, key) {
		m.Invalid = append(m.Invalid, key)
	}
}

// addressGivesWay reports whether another address, of this state, takes the place
// of the known one.
func (m *merge) addressGivesWay(state string) bool {
	if m.isSources(PersonEmail) && !slices.Contains(m.overwrite, PersonEmail) {
		return false
	}
	if verified := state == EmailValid; verified != (m.Profile[PersonEmailStatus] == EmailValid) {
		return verified
	}
	return m.from.newer(m.Provenance[PersonEmail])
}

// state takes the state of the address that is known. An address that a provider
// found, and that turns out to be none, is dropped.
func (m *merge) state(state string) {
	address, old := m.Profile[PersonEmail], m.Profile[PersonEmailStatus]
	switch {
	case state == "" || state == emailUnknown && old != "":
	case address == "":
		m.conflict(PersonEmailStatus, state) // of what?
	case old == state:
		m.confirm(PersonEmailStatus)
	case old != "" && !m.stateGivesWay(old, state):
		m.conflict(PersonEmailStatus, state)
	case state == EmailInvalid && !m.isSources(PersonEmail):
		m.bury(EmailKey(address))
		m.conflict(PersonEmail, address)
		m.conflict(PersonEmailStatus, state)
		m.drop(PersonEmail)
		m.drop(PersonEmailStatus)
	case old == "":
		m.fill(PersonEmailStatus, state)
	default:
		m.replace(PersonEmailStatus, state)
	}
}

// stateGivesWay reports whether a state takes the place of another one of the same
// address. Where both have a time the newer counts. Else a look that found out
// whether the mailbox exists counts more than one that did not, and of two alike
// the one that was heard last.
func (m *merge) stateGivesWay(old, state string) bool {
	was := m.Provenance[PersonEmailStatus]
	switch {
	case was.Provider == OriginSource:
		return slices.Contains(m.overwrite, PersonEmailStatus)
	case old == emailUnknown:
		return true
	case !m.from.AsOf.IsZero() && !was.AsOf.IsZero():
		return m.from.newer(was)
	}
	return isDecided(state) || !isDecided(old)
}

func isDecided(state string) bool { return state == EmailValid || state == EmailInvalid }
