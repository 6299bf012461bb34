"""What people read: text, tables, charts, pages and progress."""
