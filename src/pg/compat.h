// The only place with tests of the server's version. Each difference names what changed.
#pragma once

// 16: RelFileNode became RelFileLocator, rd_node rd_locator, relNode relNumber (commit b0a55e43299).
#if PG_VERSION_NUM < 160000
using RelFileLocator = RelFileNode;
#define rd_locator rd_node
#define locator_tablespace(locator) ((locator).spcNode)
#define locator_database(locator) ((locator).dbNode)
#define locator_relation(locator) ((locator).relNode)
#else
#define locator_tablespace(locator) ((locator).spcOid)
#define locator_database(locator) ((locator).dbOid)
#define locator_relation(locator) ((locator).relNumber)
#endif
