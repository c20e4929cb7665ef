// Package diagnosis turns facts into named causes: what the evidence shows,
// where, what speaks against it, which test decides and how to repair it; and
// where the facts do not suffice, which one output would settle it.
//
// # How an answer is made
//
// Facts are indexed by key, and views are laid over them: failed calls and
// completions as events, GID tables, settings, counters as differences. A rule
// is a function that looks at these views and makes claims (cause, confidence,
// evidence) and lacks (a fact that is missing, and the command that shows it).
// Claims on one cause are joined, consequences of another claim step back, and
// what is left is ranked by confidence; at equal confidence by the order of
// the questions: addresses and devices, first bytes, then loss, link and
// congestion. A lack is told only while nothing explains its symptom well.
//
// # What rules may rest on
//
// Never on names of hosts or files, literal addresses, or the order of lines
// that do not depend on one another. Counters count as events only as
// differences of two readings; from a single reading a rule may take that a
// counter is zero, or make an info finding and ask for a second reading.
//
// # Confidence
//
// 0.95: the cause itself is seen, and its symptom. 0.85: the cause is seen, or
// a symptom that has no other cause. 0.7: the usual picture of it; other
// causes are less likely. 0.5: a suspicion that the deciding test settles.
// Below Threshold nothing is said: that would be a guess.
//
// # How to add a cause
//
// Write its texts into a file of package cause, a rule here and a line in the
// table of rules, a fixture below testdata, and, where a log speaks of it, an
// entry in Symptoms.
package diagnosis
