CREATE INDEX CONCURRENTLY "nodes_online" ON "nodes" USING btree ("id") WHERE online;
