-- Test runs no longer record their mails here: a live run sends to these contacts.
DELETE FROM "campaign_mails" WHERE "status" = 'simulated';
