UPDATE rungs SET indexed = 'f00d' WHERE repo = 'acme/web' AND path = '_repo';
